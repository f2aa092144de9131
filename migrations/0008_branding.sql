-- Branding that administrators have saved: 'current' takes precedence over the settings, 'draft' is shown in the console alone. No row: the settings.
CREATE TABLE branding (
  id            TEXT PRIMARY KEY CHECK (id IN ('current', 'draft')),
  document      TEXT NOT NULL,
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
