-- The refresh family of a grant, JSON: ended first when the grant is revoked (ADR 38). NULL: given by an earlier release.
ALTER TABLE offline_grants ADD COLUMN family TEXT;
