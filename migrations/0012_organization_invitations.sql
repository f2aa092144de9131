-- The invitations of an organisation: its id and the roles of the member are in the document (ADR 72).
CREATE INDEX invitations_by_organization ON invitations (document ->> '$.org_id', id);
