SELECT sum(hits)::bigint AS blocks_hit,
       (sum(read_bytes) / b.size)::bigint AS blocks_read,
       (sum(w.bytes) / b.size)::bigint AS blocks_written,
       sum(hits) FILTER (WHERE autovacuum)::bigint AS blocks_hit_by_autovacuum,
       (sum(read_bytes) FILTER (WHERE autovacuum) / b.size)::bigint
           AS blocks_read_by_autovacuum,
       (sum(w.bytes) FILTER (WHERE autovacuum) / b.size)::bigint
           AS blocks_written_by_autovacuum,
       (sum(w.bytes) FILTER (WHERE backend_type = 'checkpointer') / b.size)::bigint
           AS blocks_written_by_checkpointer,
       (sum(w.bytes) FILTER (WHERE backend_type = 'background writer') / b.size)::bigint
           AS blocks_written_by_bgwriter,
       (sum(w.bytes) FILTER (WHERE backend_type NOT IN ('checkpointer', 'background writer')
                               AND NOT autovacuum) / b.size)::bigint
           AS blocks_written_by_backends
  FROM pg_stat_io,
       LATERAL (SELECT backend_type LIKE 'autovacuum%') v (autovacuum),
       LATERAL (SELECT coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)) w (bytes),
       (SELECT current_setting('block_size')::int) b (size)
 WHERE object = 'relation'
 GROUP BY b.size
