-- Lists of either status: the users and clients with the other one are not read. Each index replaces one that had only suspended users or disabled clients.
CREATE INDEX users_by_status ON users (status, sub);
DROP INDEX users_suspended;
CREATE INDEX clients_by_status ON clients (status, client_id);
DROP INDEX clients_disabled;
