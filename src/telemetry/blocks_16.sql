SELECT sum(hits)::bigint AS blocks_hit,
       sum(reads)::bigint AS blocks_read,
       sum(w.blocks)::bigint AS blocks_written,
       sum(hits) FILTER (WHERE autovacuum)::bigint AS blocks_hit_by_autovacuum,
       sum(reads) FILTER (WHERE autovacuum)::bigint AS blocks_read_by_autovacuum,
       sum(w.blocks) FILTER (WHERE autovacuum)::bigint AS blocks_written_by_autovacuum,
       sum(w.blocks) FILTER (WHERE backend_type = 'checkpointer')::bigint
           AS blocks_written_by_checkpointer,
       sum(w.blocks) FILTER (WHERE backend_type = 'background writer')::bigint
           AS blocks_written_by_bgwriter,
       sum(w.blocks) FILTER (WHERE backend_type NOT IN ('checkpointer', 'background writer')
                               AND NOT autovacuum)::bigint
           AS blocks_written_by_backends
  FROM pg_stat_io,
       LATERAL (SELECT backend_type LIKE 'autovacuum%') v (autovacuum),
       LATERAL (SELECT coalesce(writes, 0) + coalesce(extends, 0)) w (blocks)
 WHERE object = 'relation'
