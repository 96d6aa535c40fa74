/**
 * The tables, and the rules that hold even for somebody who opens the file with another program.
 *
 * SECURITY: triggers stop mistakes and plain `UPDATE`s; who drops them first can still write anything. What such rows are worth is decided
 * elsewhere: a grant by its signature, the trail by its hash chain.
 */
import { attempts } from './schema-attempts.ts';

/** Marks the file as ours (`PRAGMA application_id`): `bksm`. */
export const applicationId = 0x62_6b_73_6d;

const requests = `
CREATE TABLE requests (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 12 AND id GLOB 'req-*' AND substr(id, 5) NOT GLOB '*[^0-9a-f]*'),
  status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'expired', 'cancelled', 'revoked', 'consumed')),
  digest TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  agent_host TEXT NOT NULL,
  draft TEXT NOT NULL CHECK (digest IS draft ->> '$.digest' AND agent_id IS draft ->> '$.agent.id' AND agent_host IS draft ->> '$.agent.host'),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL CHECK (expires_at > created_at),
  -- When it lapses as things stand: the request's end while pending, the grant's while approved.
  due_at INTEGER CHECK ((due_at IS NOT NULL) = (status IN ('pending', 'approved'))),
  approver TEXT,
  decision TEXT CHECK (decision IS NULL OR json_valid(decision)),
  signed_grant TEXT CHECK (signed_grant IS NULL OR json_valid(signed_grant)),
  revocation TEXT CHECK (revocation IS NULL OR json_valid(revocation)),
  consumed_at INTEGER,
  consumed_by TEXT
) STRICT;
CREATE INDEX requests_by_status ON requests (status, seq);
-- Counting reads this alone, never the (much longer) rows.
CREATE INDEX requests_live ON requests (status, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX requests_due ON requests (due_at) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX requests_open ON requests (agent_id, digest) WHERE status IN ('pending', 'approved');

CREATE TRIGGER requests_start BEFORE INSERT ON requests
WHEN NEW.status <> 'pending' OR NEW.decision IS NOT NULL OR NEW.signed_grant IS NOT NULL OR NEW.consumed_at IS NOT NULL
  OR NEW.due_at IS NOT NEW.expires_at OR EXISTS (SELECT 1 FROM requests WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'a request starts pending, once'); END;

CREATE TRIGGER requests_edges BEFORE UPDATE ON requests
WHEN (OLD.status || '>' || NEW.status) NOT IN (
  'pending>approved', 'pending>denied', 'pending>expired', 'pending>cancelled',
  'approved>consumed', 'approved>expired', 'approved>revoked', 'approved>cancelled')
BEGIN SELECT RAISE(ABORT, 'a request cannot go that way'); END;

CREATE TRIGGER requests_fixed BEFORE UPDATE ON requests
WHEN NEW.seq IS NOT OLD.seq OR NEW.id IS NOT OLD.id OR NEW.digest IS NOT OLD.digest OR NEW.draft IS NOT OLD.draft
  OR NEW.agent_id IS NOT OLD.agent_id OR NEW.agent_host IS NOT OLD.agent_host
  OR NEW.created_at IS NOT OLD.created_at OR NEW.expires_at IS NOT OLD.expires_at
  OR (OLD.approver IS NOT NULL AND NEW.approver IS NOT OLD.approver)
  OR (OLD.decision IS NOT NULL AND NEW.decision IS NOT OLD.decision)
  OR (OLD.signed_grant IS NOT NULL AND NEW.signed_grant IS NOT OLD.signed_grant)
BEGIN SELECT RAISE(ABORT, 'what was asked and answered does not change'); END;

CREATE TRIGGER requests_grant BEFORE UPDATE ON requests
WHEN NEW.status = 'approved' AND (NEW.decision IS NULL OR NEW.approver IS NULL
  OR NEW.signed_grant ->> '$.payload.requestId' IS NOT OLD.id
  OR NEW.signed_grant ->> '$.payload.digest' IS NOT OLD.digest
  OR NEW.signed_grant ->> '$.payload.approver' IS NOT NEW.approver
  OR NEW.signed_grant ->> '$.payload.expiresAt' IS NOT NEW.due_at)
BEGIN SELECT RAISE(ABORT, 'an approval needs a grant for this very request'); END;

CREATE TRIGGER requests_self BEFORE UPDATE ON requests
WHEN NEW.status = 'approved' AND NEW.approver = OLD.agent_id AND OLD.agent_host <> 'palette'
BEGIN SELECT RAISE(ABORT, 'nobody approves their own request'); END;

CREATE TRIGGER requests_spent BEFORE UPDATE ON requests
WHEN NEW.status = 'consumed' AND (NEW.consumed_at IS NULL OR NEW.consumed_by IS NULL OR NEW.consumed_at >= OLD.due_at)
BEGIN SELECT RAISE(ABORT, 'a grant is spent in time and by somebody'); END;

CREATE TRIGGER requests_kept BEFORE DELETE ON requests
BEGIN SELECT RAISE(ABORT, 'requests are kept'); END;
`;

const audit = `
CREATE TABLE audit (
  sequence INTEGER PRIMARY KEY,
  name TEXT NOT NULL CHECK (name IS body ->> '$.name'),
  body TEXT NOT NULL,
  request_id TEXT GENERATED ALWAYS AS (CAST(body ->> '$.attributes.request_id' AS TEXT)) VIRTUAL
) STRICT;
-- A second record of the same spending cannot be written, even if the request's row was put back.
CREATE UNIQUE INDEX audit_spent ON audit (request_id) WHERE name = 'approval.consumed';

-- The head anchor: a trail whose end was cut off does not reach it.
CREATE TABLE audit_head (only INTEGER PRIMARY KEY CHECK (only = 1), sequence INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
INSERT INTO audit_head (only, sequence, hash) VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');

CREATE TRIGGER audit_next BEFORE INSERT ON audit
WHEN NOT EXISTS (SELECT 1 FROM audit_head WHERE sequence = NEW.sequence - 1 AND hash = NEW.body ->> '$.previous')
  OR NEW.body ->> '$.sequence' IS NOT NEW.sequence
BEGIN SELECT RAISE(ABORT, 'a record continues the trail'); END;
CREATE TRIGGER audit_advance AFTER INSERT ON audit
BEGIN UPDATE audit_head SET sequence = NEW.sequence, hash = NEW.body ->> '$.hash'; END;
CREATE TRIGGER audit_fixed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the trail does not change'); END;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the trail is kept'); END;

CREATE TRIGGER audit_head_once BEFORE INSERT ON audit_head BEGIN SELECT RAISE(ABORT, 'there is one head'); END;
CREATE TRIGGER audit_head_forward BEFORE UPDATE ON audit_head
WHEN NEW.sequence IS NOT OLD.sequence + 1 OR NOT EXISTS (SELECT 1 FROM audit WHERE sequence = NEW.sequence AND body ->> '$.hash' = NEW.hash)
BEGIN SELECT RAISE(ABORT, 'the head follows the trail'); END;
CREATE TRIGGER audit_head_kept BEFORE DELETE ON audit_head BEGIN SELECT RAISE(ABORT, 'the head is kept'); END;
`;

const personas = `
CREATE TABLE personas (
  agent_id TEXT PRIMARY KEY,
  directory TEXT NOT NULL UNIQUE CHECK (length(directory) = 32 AND directory NOT GLOB '*[^0-9a-f]*'),
  last_used INTEGER NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX personas_by_use ON personas (last_used);

CREATE TABLE persona_files (
  agent_id TEXT NOT NULL REFERENCES personas ON DELETE CASCADE,
  path TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  PRIMARY KEY (agent_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE persona_reservations (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES personas ON DELETE CASCADE,
  path TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  made_at INTEGER NOT NULL
) STRICT;
CREATE INDEX persona_reservations_by_agent ON persona_reservations (agent_id);
`;

const settings = `
-- What people set for everyone on this store: JSON of a signed setting, by the names that the shared store uses, too.
CREATE TABLE settings (
  key TEXT PRIMARY KEY CHECK (key = 'security_level' OR (key GLOB 'auto_approve:*' AND length(key) > 13)),
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

const reports = `
CREATE TRIGGER requests_report BEFORE INSERT ON requests
WHEN (NEW.draft -> '$.reported' IS NOT NULL AND NEW.draft ->> '$.action.tool' IS NOT 'report_block')
  OR (NEW.draft ->> '$.reportId' IS NOT NULL AND (NEW.draft -> '$.reported' IS NULL OR NEW.draft ->> '$.reportId' IS NOT NEW.id))
BEGIN SELECT RAISE(ABORT, 'only a report names its own id'); END;

CREATE TRIGGER requests_report_spent BEFORE UPDATE ON requests
WHEN NEW.status = 'consumed' AND NEW.draft -> '$.reported' IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a report is no call'); END;
`;

const retention = `
-- Requests from before this moment (ms) may go, once they are over.
CREATE TABLE retention (only INTEGER PRIMARY KEY CHECK (only = 1), requests_before INTEGER NOT NULL) STRICT;
INSERT INTO retention (only, requests_before) VALUES (1, 0);
CREATE TRIGGER retention_forward BEFORE UPDATE ON retention
WHEN NEW.only IS NOT OLD.only OR NEW.requests_before < OLD.requests_before
BEGIN SELECT RAISE(ABORT, 'time goes forward'); END;
CREATE TRIGGER retention_kept BEFORE DELETE ON retention BEGIN SELECT RAISE(ABORT, 'retention is kept'); END;

DROP TRIGGER requests_kept;
CREATE TRIGGER requests_kept BEFORE DELETE ON requests
WHEN OLD.due_at IS NOT NULL OR OLD.created_at >= (SELECT requests_before FROM retention)
BEGIN SELECT RAISE(ABORT, 'requests are kept'); END;

-- Records go only from the front, and right after a record that says so.
DROP TRIGGER audit_kept;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit
WHEN NOT EXISTS (SELECT 1 FROM audit_head JOIN audit ON audit.sequence = audit_head.sequence
  WHERE audit.name = 'audit.checkpoint' AND OLD.sequence <= audit.body ->> '$.attributes.base.sequence')
BEGIN SELECT RAISE(ABORT, 'the trail is kept'); END;
CREATE TRIGGER audit_checkpoint BEFORE INSERT ON audit
WHEN NEW.name = 'audit.checkpoint' AND NOT EXISTS (SELECT 1 FROM audit
  WHERE sequence = NEW.body ->> '$.attributes.base.sequence' AND body ->> '$.hash' = NEW.body ->> '$.attributes.base.hash')
BEGIN SELECT RAISE(ABORT, 'a checkpoint names a record of the trail'); END;
`;

const waits = `
-- Which call waits for the answer to a request: its newest word. A process that was killed says nothing more, so only a mark that is young counts.
CREATE TABLE waits (
  request_id TEXT PRIMARY KEY REFERENCES requests (id) ON DELETE CASCADE,
  by TEXT NOT NULL,
  until INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What became of a request: few records name one.
CREATE INDEX audit_of_request ON audit (request_id, sequence) WHERE request_id IS NOT NULL;
`;

const people = `
-- The last signature counter of each passkey that keeps one.
CREATE TABLE passkeys (
  credential_id TEXT PRIMARY KEY,
  counter INTEGER NOT NULL CHECK (counter > 0)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER passkeys_forward BEFORE UPDATE ON passkeys
WHEN NEW.credential_id IS NOT OLD.credential_id OR NEW.counter <= OLD.counter
BEGIN SELECT RAISE(ABORT, 'a counter goes up'); END;

-- Several people may have to agree: a list of grants. What an older version stored here is none, and counts for nothing any more.
DROP TRIGGER requests_start;
DROP TRIGGER requests_edges;
DROP TRIGGER requests_fixed;
DROP TRIGGER requests_grant;
ALTER TABLE requests RENAME COLUMN signed_grant TO grants;

CREATE TRIGGER requests_start BEFORE INSERT ON requests
WHEN NEW.status <> 'pending' OR NEW.decision IS NOT NULL OR NEW.grants IS NOT NULL OR NEW.consumed_at IS NOT NULL
  OR NEW.due_at IS NOT NEW.expires_at OR EXISTS (SELECT 1 FROM requests WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'a request starts pending, once'); END;

CREATE TRIGGER requests_edges BEFORE UPDATE ON requests
WHEN (OLD.status || '>' || NEW.status) NOT IN (
  'pending>approved', 'pending>denied', 'pending>expired', 'pending>cancelled',
  'approved>consumed', 'approved>expired', 'approved>revoked', 'approved>cancelled')
  AND NOT (OLD.status = 'pending' AND NEW.status = 'pending' AND NEW.grants IS NOT OLD.grants
    AND NEW.due_at IS OLD.due_at AND NEW.approver IS OLD.approver AND NEW.decision IS OLD.decision)
BEGIN SELECT RAISE(ABORT, 'a request cannot go that way'); END;

CREATE TRIGGER requests_fixed BEFORE UPDATE ON requests
WHEN NEW.seq IS NOT OLD.seq OR NEW.id IS NOT OLD.id OR NEW.digest IS NOT OLD.digest OR NEW.draft IS NOT OLD.draft
  OR NEW.agent_id IS NOT OLD.agent_id OR NEW.agent_host IS NOT OLD.agent_host
  OR NEW.created_at IS NOT OLD.created_at OR NEW.expires_at IS NOT OLD.expires_at
  OR (OLD.approver IS NOT NULL AND NEW.approver IS NOT OLD.approver)
  OR (OLD.decision IS NOT NULL AND NEW.decision IS NOT OLD.decision)
BEGIN SELECT RAISE(ABORT, 'what was asked and answered does not change'); END;

CREATE TRIGGER requests_grants BEFORE UPDATE ON requests
WHEN NEW.grants IS NOT OLD.grants AND (OLD.status <> 'pending' OR NEW.status NOT IN ('pending', 'approved')
  OR json_array_length(NEW.grants) IS NOT json_array_length(coalesce(OLD.grants, '[]')) + 1
  OR EXISTS (SELECT 1 FROM json_each(coalesce(OLD.grants, '[]')) AS known
    WHERE json(known.value) IS NOT json(NEW.grants -> ('$[' || known.key || ']')))
  OR NEW.grants ->> '$[#-1].payload.requestId' IS NOT OLD.id
  OR NEW.grants ->> '$[#-1].payload.digest' IS NOT OLD.digest
  OR (NEW.grants ->> '$[#-1].payload.approver' IS OLD.agent_id AND OLD.agent_host <> 'palette'))
BEGIN SELECT RAISE(ABORT, 'a grant for this very request is added, and none changes'); END;

CREATE TRIGGER requests_approved BEFORE UPDATE ON requests
WHEN NEW.status = 'approved' AND (NEW.decision IS NULL OR NEW.approver IS NULL OR NEW.grants IS OLD.grants
  OR NEW.grants ->> '$[#-1].payload.approver' IS NOT NEW.approver
  OR NEW.due_at > NEW.grants ->> '$[#-1].payload.expiresAt')
BEGIN SELECT RAISE(ABORT, 'an approval needs a grant for this very request'); END;
`;

/** Which records count against a budget: a query that says just this is answered from the index. */
export const isChange =
  "name = 'tool.started' AND body ->> '$.attributes.cluster' IS NOT NULL AND coalesce(body ->> '$.attributes.impact', '') <> 'none'";

const limits = `
-- Few of the trail's records are changes of clusters, and of those only a day's are counted.
CREATE INDEX audit_changes ON audit (body ->> '$.time') WHERE ${isChange};

-- Pausing all agents is a setting, too.
ALTER TABLE settings RENAME TO settings_before;
CREATE TABLE settings (
  key TEXT PRIMARY KEY CHECK (key IN ('security_level', 'agents_paused') OR (key GLOB 'auto_approve:*' AND length(key) > 13)),
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO settings SELECT key, value FROM settings_before;
DROP TABLE settings_before;
`;

const codes = `
-- Taken away to be looked at. A code is no authority: the approver's signature is.
CREATE TABLE one_time_codes (
  request_id TEXT PRIMARY KEY CHECK (length(request_id) = 12 AND request_id GLOB 'req-*'),
  salt TEXT NOT NULL,
  hash TEXT NOT NULL,
  wrong INTEGER NOT NULL CHECK (wrong >= 0),
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX one_time_codes_by_end ON one_time_codes (expires_at);
`;

const names = `
-- What uses a grant up is called consuming, here, too.
DROP TRIGGER requests_spent;
CREATE TRIGGER requests_consumed BEFORE UPDATE ON requests
WHEN NEW.status = 'consumed' AND (NEW.consumed_at IS NULL OR NEW.consumed_by IS NULL OR NEW.consumed_at >= OLD.due_at)
BEGIN SELECT RAISE(ABORT, 'a grant is consumed in time and by somebody'); END;

DROP TRIGGER requests_report_spent;
CREATE TRIGGER requests_report_consumed BEFORE UPDATE ON requests
WHEN NEW.status = 'consumed' AND NEW.draft -> '$.reported' IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a report is no call'); END;

-- A second record of the same consuming cannot be written, even if the request's row was put back.
DROP INDEX audit_spent;
CREATE UNIQUE INDEX audit_consumed ON audit (request_id) WHERE name = 'approval.consumed';
`;

const tree = `
-- The Merkle tree over the trail (RFC 6962): hashes of levels 0 (the records'), 8, 16 …; they stay when records leave. \`time\` (ms): of the record.
CREATE TABLE IF NOT EXISTS audit_tree (
  level INTEGER NOT NULL CHECK (level >= 0 AND level % 8 = 0),
  position INTEGER NOT NULL CHECK (position >= 0),
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  time INTEGER,
  PRIMARY KEY (level, position)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS audit_tree_next BEFORE INSERT ON audit_tree
WHEN NEW.position IS NOT (SELECT coalesce(max(position), -1) + 1 FROM audit_tree WHERE level = NEW.level)
BEGIN SELECT RAISE(ABORT, 'the tree grows at its end'); END;
CREATE TRIGGER IF NOT EXISTS audit_tree_fixed BEFORE UPDATE ON audit_tree BEGIN SELECT RAISE(ABORT, 'the tree does not change'); END;
CREATE TRIGGER IF NOT EXISTS audit_tree_kept BEFORE DELETE ON audit_tree BEGIN SELECT RAISE(ABORT, 'the tree is kept'); END;

-- And only records go whose hashes stay.
CREATE TRIGGER IF NOT EXISTS audit_leafless BEFORE DELETE ON audit
WHEN OLD.sequence - (SELECT first FROM audit_log) > (SELECT coalesce(max(position), -1) FROM audit_tree WHERE level = 0)
BEGIN SELECT RAISE(ABORT, 'the hash of a record stays'); END;

-- What the tree is of, and which record is its leaf 0. \`key\`: JSON, the keys that its trail has named.
CREATE TABLE IF NOT EXISTS audit_log (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  origin TEXT NOT NULL,
  first INTEGER NOT NULL CHECK (first > 0),
  key TEXT
) STRICT;
INSERT INTO audit_log (only, origin, first)
  SELECT 1, 'banksman/trail/' || lower(hex(randomblob(16))), coalesce((SELECT min(sequence) FROM audit), audit_head.sequence + 1)
  FROM audit_head WHERE NOT EXISTS (SELECT 1 FROM audit_log);
CREATE TRIGGER IF NOT EXISTS audit_log_once BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'there is one log'); END;
CREATE TRIGGER IF NOT EXISTS audit_log_fixed BEFORE UPDATE ON audit_log
WHEN NEW.origin IS NOT OLD.origin OR NEW.first IS NOT OLD.first
BEGIN SELECT RAISE(ABORT, 'the log stays what it is'); END;
CREATE TRIGGER IF NOT EXISTS audit_log_kept BEFORE DELETE ON audit_log BEGIN SELECT RAISE(ABORT, 'the log is kept'); END;
`;

const clock = `
-- The time that the store has seen pass (\`seen\`), the clock when that was written down, and the machine's own time since its start. In ms.
CREATE TABLE clock (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  seen INTEGER NOT NULL,
  wall INTEGER NOT NULL,
  start TEXT NOT NULL,
  ms INTEGER NOT NULL
) STRICT;
INSERT INTO clock (only, seen, wall, start, ms) VALUES (1, 0, 0, '', 0);
CREATE TRIGGER clock_forward BEFORE UPDATE ON clock
WHEN NEW.only IS NOT OLD.only OR NEW.seen < OLD.seen
BEGIN SELECT RAISE(ABORT, 'time goes forward'); END;
CREATE TRIGGER clock_kept BEFORE DELETE ON clock BEGIN SELECT RAISE(ABORT, 'the clock is kept'); END;
`;

/** Entry n makes version n + 1 (`PRAGMA user_version`) out of version n. Never edit one that was released; append. */
export const migrations: readonly string[] = [
  requests + audit,
  personas,
  settings + reports,
  retention,
  waits,
  people,
  limits,
  codes,
  names,
  tree,
  clock,
  attempts,
];
