-- Runs of all kinds, and every kind of page over them, as files in the directory :pages.
CREATE EXTENSION pg_selfbench;
