-- A new deployment starts with 8 shards of refresh families instead of 16 (ADR 58): requests of an isolate share a call only within a shard. More
-- are opened when they are needed (docs/operating/resharding.md). Nothing changes where anything may name one of the 16.
UPDATE shard_generations SET regions = '{"wnam":{"shards":8,"hint":"wnam"}}'
WHERE store = 'refresh' AND generation = 1 AND regions = '{"wnam":{"shards":16,"hint":"wnam"}}'
  AND NOT EXISTS (SELECT 1 FROM deployment) AND NOT EXISTS (SELECT 1 FROM clients) AND NOT EXISTS (SELECT 1 FROM users);
