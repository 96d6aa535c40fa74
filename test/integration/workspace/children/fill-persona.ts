/** fill-persona BASE NUMBER: waits for `go`, writes files as the same agent until the quota of 25 files refuses, says how many it wrote. */
import path from 'node:path';
import { pathRules } from '#app/workspace/open-workspace';
import { seal } from '#audit/seal';
import { createPersonaSandboxes } from '#connectors/persona-sandbox/persona-sandboxes';
import { createWorkspaceFiles } from '#connectors/workspace-files/create-workspace-files';
import { usualPinning } from '#files/directory-pin';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { say, told } from '../../stores/children/told.ts';

const [base = '', number = ''] = process.argv.slice(2);
const store = await openSqliteStore({ file: path.join(base, 'state/banksman.db'), seal, busyDeadlineMs: 60_000 });
const root = path.join(base, 'ws');
const personas = createPersonaSandboxes({
  base: path.join(base, 'state/personas'),
  ledger: store.personas,
  limits: { bytes: 1e9, files: 25 },
});
const files = createWorkspaceFiles({
  rules: pathRules([root]),
  workspaceRoot: root,
  personas,
  pinning: usualPinning,
  mostBytes: 1e6,
  journal: async () => 'nothing is kept of a sandbox',
  notes: path.join(base, 'writing'),
});
say('ready');
await told();
let written = 0;
for (let index = 0; index < 25; index += 1) {
  try {
    await files.write(`/tmp/${number}-${index}`, 'x', { createDirs: true }, { agentId: 'mcp:shared' });
    written += 1;
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'QUOTA_EXCEEDED')) throw thrown;
  }
}
say(String(written));
await store.close();
process.exit(0);
