-- Who has a role in an organisation: its owners are found without reading its other members (ADR 72).
CREATE INDEX membership_roles_by_organization ON membership_roles (org_id, role, sub);
