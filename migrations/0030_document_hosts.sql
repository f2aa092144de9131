-- Which hosts may publish metadata documents of clients. Read as one record, at most 200 rows; deleted by the admin API.
CREATE TABLE document_hosts (
  host          TEXT    PRIMARY KEY,           -- agent.example.com, *.example.com (every host below it), * (every host)
  policy        TEXT    NOT NULL,              -- deny | ask | allow
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
