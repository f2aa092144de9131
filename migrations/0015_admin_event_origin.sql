-- From where a change was made, and by which request. NULL in rows of earlier releases. Rows are deleted a month after the audit log has them.
ALTER TABLE admin_events ADD COLUMN address TEXT;     -- network of the caller: /24 or /48
ALTER TABLE admin_events ADD COLUMN request_id TEXT;
