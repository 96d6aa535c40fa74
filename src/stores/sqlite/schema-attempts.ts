/** The table of calls without an end, which the trail's triggers keep. */
const callOf = (row: string) => `${row}.body ->> '$.attributes."gen_ai.tool.call.id"'`;
const reporterOf = (row: string) => `${row}.body ->> '$.attributes.reported_by'`;

/** Of an older file the newest calls alone: what came of those before nobody can find out any more. */
export const attempts = `
-- Calls that began and have no end, or whose end is unknown and unseen: the trail's own triggers keep them, so nobody has to read it through.
CREATE TABLE attempts (
  call TEXT PRIMARY KEY,
  reporter TEXT,
  begun INTEGER NOT NULL,
  unknown INTEGER
) STRICT, WITHOUT ROWID;
CREATE TRIGGER attempts_begun AFTER INSERT ON audit WHEN NEW.name = 'tool.started' AND ${callOf('NEW')} IS NOT NULL
BEGIN INSERT OR IGNORE INTO attempts (call, reporter, begun) VALUES (${callOf('NEW')}, ${reporterOf('NEW')}, NEW.sequence); END;
-- What a user's own process reports ends no attempt of anybody else's.
CREATE TRIGGER attempts_ended AFTER INSERT ON audit WHEN NEW.name IN ('tool.finished', 'tool.denied')
BEGIN DELETE FROM attempts WHERE call = ${callOf('NEW')} AND reporter IS ${reporterOf('NEW')}; END;
CREATE TRIGGER attempts_once BEFORE INSERT ON audit
WHEN NEW.name = 'attempt.resolved' AND NOT EXISTS (SELECT 1 FROM attempts WHERE call = ${callOf('NEW')} AND unknown IS NULL)
  OR NEW.name = 'attempt.seen' AND NOT EXISTS (SELECT 1 FROM attempts WHERE call = ${callOf('NEW')} AND unknown IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'an attempt ends once'); END;
CREATE TRIGGER attempts_resolved AFTER INSERT ON audit WHEN NEW.name IN ('attempt.resolved', 'attempt.seen')
BEGIN
  UPDATE attempts SET unknown = NEW.sequence WHERE call = ${callOf('NEW')} AND NEW.name = 'attempt.resolved' AND NEW.body ->> '$.attributes.end' = 'unknown';
  DELETE FROM attempts WHERE call = ${callOf('NEW')} AND (NEW.name = 'attempt.seen' OR NEW.body ->> '$.attributes.end' IS NOT 'unknown');
END;
CREATE TRIGGER attempts_pruned AFTER DELETE ON audit WHEN OLD.name = 'tool.started'
BEGIN DELETE FROM attempts WHERE call = ${callOf('OLD')}; END;
INSERT OR IGNORE INTO attempts (call, reporter, begun)
  SELECT ${callOf('audit')}, ${reporterOf('audit')}, sequence FROM audit
  WHERE name = 'tool.started' AND ${callOf('audit')} IS NOT NULL AND sequence > (SELECT sequence FROM audit_head) - 20000;
DELETE FROM attempts WHERE call IN (SELECT ${callOf('audit')} FROM audit
  WHERE name IN ('tool.finished', 'tool.denied') AND sequence > (SELECT sequence FROM audit_head) - 20000);
`;
