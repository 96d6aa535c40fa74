/** An agent outside the editor asks; the person answers in the editor. */
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../../../scripts/lib/cache-folder.mjs';
import { cleanEnv } from '../../../../scripts/lib/clean-env.mjs';
import { callTool } from '../../../integration/mcp/clients.ts';
import { approvalRows, openApprovals, pressRowAction, waitRow, waitRowGone } from '../../harness/approvals-view.ts';
import { guestStatus } from '../../harness/demo-api.ts';
import { approveInModal, denyInModal, waitModal } from '../../harness/modal.ts';
import { screenshot } from '../../harness/screenshot.ts';
import { bench } from './window.ts';

const program = path.join(ROOT, 'dist', 'cli.cjs');
let client: Client;

/** The demo cluster, and time enough for a person. */
function config(): readonly string[] {
  return ['--config', JSON.stringify({ ...bench.demo.config, approvalWait: { mcp: 120_000 } })];
}

/** State and pinned keys where the editor has its own: that is where the two meet. */
function env(): Record<string, string> {
  const places = { XDG_CONFIG_HOME: bench.configDir, XDG_STATE_HOME: path.join(bench.configDir, '..', 'state') };
  const all: NodeJS.ProcessEnv = cleanEnv(places);
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

interface TrailRecord {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** The whole trail, read by the same client's neighbour: the command line. */
async function trail(): Promise<readonly TrailRecord[]> {
  const { execFile } = await import('node:child_process');
  const { promisify } = await import('node:util');
  const words = [program, 'audit', 'tail', '--count', '1000', '--json', ...config()];
  const { stdout } = await promisify(execFile)(process.execPath, words, { env: env() });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as TrailRecord);
}

export function answerMcpClients(): void {
  describe('an MCP client outside the editor', () => {
    beforeAll(async () => {
      client = new Client({ name: 'codex', version: '9.9.9' });
      await client.connect(
        new StdioClientTransport({ command: process.execPath, args: [program, 'mcp', ...config()], env: env(), stderr: 'ignore' }),
      );
    });
    afterAll(() => client?.close());

    it('asks for a red call, which shows in the tree, is approved there and runs once', async () => {
      await openApprovals(bench.page);
      const waiting = callTool(client, 'stop_vm', { vmid: 100, reason: 'maintenance' });
      await waitRow(bench.page, 'Stop VM 100');
      const [row] = await approvalRows(bench.page);
      expect(row?.description).toContain('codex 9.9.9');
      await screenshot(bench.page, 'm1-tree');
      expect(await guestStatus(bench.demo.config, 100)).toBe('running');
      await pressRowAction(bench.page, 'Stop VM 100', 'Review');
      const modal = await waitModal(bench.page, 'Stop VM 100');
      expect(modal.detail).toContain('codex 9.9.9');
      expect(modal.detail).toContain('maintenance');
      await screenshot(bench.page, 'm2-modal');
      await approveInModal(bench.page, modal);
      const { outcome, isError } = await waiting;
      expect({ isError, status: outcome.status }, outcome.message).toEqual({ isError: false, status: 'ok' });
      expect(await guestStatus(bench.demo.config, 100)).toBe('stopped');
      await waitRowGone(bench.page, 'Stop VM 100');

      const mine = (await trail()).filter(({ attributes }) => attributes['request_id'] === outcome.request_id);
      expect(mine.map(({ name }) => name)).toEqual([
        'approval.requested',
        'approval.approved',
        'approval.consumed',
        'tool.started',
        'tool.finished',
      ]);
      expect(mine.at(-1)?.attributes['agent']).toMatchObject({ id: expect.stringMatching(/^mcp:/), host: 'mcp', label: 'codex 9.9.9' });
    });

    it('hears it when the person denies, and the guest runs on', async () => {
      const waiting = callTool(client, 'stop_container', { vmid: 200 });
      await waitRow(bench.page, '200');
      await pressRowAction(bench.page, '200', 'Review');
      await denyInModal(bench.page, await waitModal(bench.page, '200'));
      expect(await waiting).toMatchObject({ isError: true, outcome: { status: 'denied', code: 'denied_by_person' } });
      expect(await guestStatus(bench.demo.config, 200)).toBe('running');
    });
  });
}
