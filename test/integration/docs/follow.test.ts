/** The pages of tasks, followed to the letter: every command of a marked block runs, and prints what the page shows. */
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { type Block, blocksOf, configOf, docs } from '../../../scripts/docs/page-blocks.ts';
import { cli } from '../cli/support.ts';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { Reader } from './reader.ts';

vi.setConfig({ testTimeout: 300_000 });

/** In the order in which they go on from each other; the demo cluster of the first page runs until the last. */
const pages = [
  'start.md',
  'connect-cluster.md',
  'protect.md',
  'team.md',
  'approvals.md',
  'undo.md',
  'odd.md',
  'upgrade.md',
  'cookbook.md',
  'mcp.md',
  'hooks.md',
];

/** Followed in a clone of its own, where it was built. */
const readme = '../README.md';

/** Pages with commands of which none runs here; `notRun` says why of each. */
const looked = ['deployment.md', 'policy.md', 'releasing.md', 'rights.md', 'service.md', 'guides.md', '../CONTRIBUTING.md'];

/** What stands in a page's `sh` blocks and is not run here, by how its line begins, with the reason. */
const notRun: readonly (readonly [starts: string, why: string])[] = [
  ['npm ci && npm run build && npm link', 'installs on the machine; here `banksman` is a shim of the bundle that `npm run build` makes'],
  ['npm start', 'starts an editor: `test/editor/person` does, and writes in its chat'],
  ['pveum ', 'a program of Proxmox VE; `test/unit/docs/rights.test.ts` holds the privileges against the tools'],
  ['openssl x509 -in /etc/pve', 'reads a file of a Proxmox VE node'],
  ['ssh-keyscan ', 'asks a node of the reader’s'],
  ['ssh-keygen -lf', 'reads host keys of the reader’s nodes'],
  ['npm ci && npm run build', 'installs and builds what these tests were started from'],
  ['npm ci && npm run package', 'makes a release: `test/integration/scripts/release.test.ts` does'],
  ['npm test', 'runs this'],
  ['git clone ', 'fetches what these tests are part of'],
  ['npm ci  ', 'installs what these tests were started from'],
  ['npm run check', 'the command of which CI makes a step; `test/unit/scripts/check.test.ts` holds its steps'],
  ['npm run generate', 'writes into the repository; `guides.test.ts` does so in a copy'],
  ['banksman run -- ', 'runs the reader’s own command: `test/integration/cli/hook.test.ts` runs such'],
  ['banksman hook claude-code', 'waits for an agent’s question: `test/integration/cli/hook.test.ts` asks'],
  ['sudo banksman hook install claude-code --managed', 'needs root: `test/integration/cli/hook-install.test.ts` installs one'],
  ['banksman approvers create alice', 'start.md runs it'],
  ['banksman approvers enroll alice-phone', 'needs a phone; `test/integration/cli/enroll.test.ts` enrols over the page in a browser'],
  ['banksman approvals ', 'start.md runs them'],
  ['banksman audit verify --expect 1204', 'names a record of the reader’s; `test/integration/cli/audit-memory.test.ts` expects one'],
  ['BANKSMAN_PAGE=', 'needs a container engine’s host; `test/integration/deploy` holds its files to what they say'],
  ['"$', 'opens the reader’s editor'],
  ['docker compose ', 'needs a container engine; `test/integration/deploy` holds its files to what they say'],
  ['sudo banksman service ', 'needs root and systemd: `test/integration/service` installs and runs it'],
  ['banksman policy explain ', '`test/integration/cli/bad-configuration.test.ts` and others explain calls'],
  ['banksman policy replay ', '`test/integration/cli/replay.test.ts` replays a trail'],
  ['sudoedit ', 'opens the reader’s editor as root'],
  ['sudo install ', 'puts the reader’s token where only root reads'],
  ['sudo systemctl ', 'needs systemd'],
  ['sudo banksman approvers enroll', 'needs root and a phone; `test/integration/service/enroll.test.ts` enrols over the page in a browser'],
];

const reader = new Reader();
const newcomer = new Reader();
afterAll(() => Promise.all([reader.leave(), newcomer.leave()]));

describe.skipIf(!canSandbox)('somebody who follows the pages', () => {
  it.each(pages)('%s', async (page) => {
    for (const block of blocksOf(page)) {
      if (page === 'cookbook.md' && block.mark?.kind === 'config') await writeRecipe(block);
      expect(await reader.follow(block)).toBeUndefined();
    }
  });

  it('README.md', async () => {
    symlinkSync(path.dirname(cli), path.join(newcomer.home, 'dist'));
    for (const block of blocksOf(readme)) expect(await newcomer.follow(block)).toBeUndefined();
  });
});

it('every command of the pages is run, or is among those that cannot be', () => {
  const lines = [...pages, readme, ...looked]
    .flatMap(blocksOf)
    .filter(({ mark }) => mark === undefined)
    .flatMap(linesToType);
  expect(lines.filter((line) => !notRun.some(([starts]) => line.startsWith(starts)))).toEqual([]);
  expect(notRun.filter(([starts]) => !lines.some((line) => line.startsWith(starts)))).toEqual([]);
});

/** Those of a block for a shell; of one that shows the screen, those behind a prompt. */
function linesToType({ language, text }: Block): readonly string[] {
  const lines = text.trim().split('\n');
  if (language === 'console') return lines.flatMap((line) => /^[$#] (.*)/.exec(line)?.[1] ?? []);
  return shellNames.has(language) ? lines : [];
}

/** The pages write `sh`; whoever writes another one is not overlooked. */
const shellNames = new Set(['sh', 'bash', 'shell', 'zsh', 'fish']);

/** The demo's clusters with the recipe's keys, as the page says. */
async function writeRecipe(block: Block): Promise<void> {
  const { clusters } = JSON.parse(readFileSync(path.join(reader.home, 'banksman-try/config/banksman/config.json'), 'utf8')) as {
    clusters: unknown;
  };
  writeFileSync(await reader.file('recipe.json'), JSON.stringify({ clusters, ...configOf(block) }));
}

it('no page with commands is left out', () => {
  const all = readdirSync(docs).filter((name) => name.endsWith('.md') && blocksOf(name).some((block) => linesToType(block).length > 0));
  expect(all.filter((name) => !pages.includes(name) && !looked.includes(name))).toEqual([]);
});
