/** Who follows what is agreed to starts again, and a plan that runs there ends: so they are told of what counts otherwise now, and of nothing else. */
import { mkdtempSync, rmSync, unwatchFile, watchFile } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { agreementFileOf } from '#app/config/agreement';
import { parseConfig } from '#app/config/config';
import { createConfigAgreement, recordAgreement } from '#app/config/config-agreement';
import { generateApproverKey, signerFrom } from '#app/for-hosts';
import { seal } from '#audit/seal';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';

const folder = mkdtempSync(join(tmpdir(), 'banksman-agreement-'));
const configFile = join(folder, 'config.json');
const store = await openSqliteStore({ file: join(folder, 'banksman.db'), seal });
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const trail = store.audit;
const editor = (guests: readonly number[]) =>
  createConfigAgreement({ config: parseConfig({ protected: { guests } }, 'settings'), configFile, origin: 'editor' });

/** Until the file was looked at anew; those who asked before hear of it first. */
function nextLook(): Promise<void> {
  const file = agreementFileOf(configFile);
  return new Promise((resolve) => {
    // A file that is not there is told at once.
    const look = ({ mtimeMs }: { readonly mtimeMs: number }) => {
      if (mtimeMs === 0) return;
      unwatchFile(file, look);
      resolve();
    };
    watchFile(file, { interval: 2_000 }, look);
  });
}

it('a key that is trusted for the first time, or one more, rings nobody; a value that counts does', async () => {
  const pair = generateApproverKey();
  const signer = signerFrom(pair.privateKey, 'user:alice');
  const keys = async () => [{ name: 'user:alice', key: pair.publicKey }];
  const first = editor([100]);
  let rings = 0;
  const stop = first.forPeople(trail, keys).onChange(() => (rings += 1));
  let looked = nextLook();
  await first.pin({ name: 'user:alice', key: pair.publicKey }, signer, trail);
  await looked;
  expect(rings).toBe(0);
  looked = nextLook();
  const other = { name: 'user:bob', key: generateApproverKey().publicKey };
  await recordAgreement(configFile, { approvers: [{ name: 'user:alice', key: pair.publicKey }, other] }, signer, trail);
  await looked;
  expect(rings).toBe(0);
  stop();

  const looser = editor([]);
  expect(looser.config.protected.guests).toEqual([100]);
  const people = looser.forPeople(trail, keys);
  const rang = new Promise<void>((resolve) => void people.onChange(resolve));
  expect(await people.agree(await people.pending(), signer)).toMatchObject({ ok: true });
  await rang;
  expect(editor([]).config.protected.guests).toEqual([]);
});
