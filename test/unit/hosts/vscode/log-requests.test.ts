import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createApprovals } from '#approval/approvals';
import { AppSession } from '#hosts/vscode/app-session';
import { linesOf, logRequests } from '#hosts/vscode/log-requests';
import type { App } from '#kernel/app';
import { requestLifeMs } from '#kernel/approval/request';
import { createApprover, createFakeClock, draftOf, opened, openTestStore, stopAction } from '../../../integration/stores/store-fixtures.ts';

async function createDesk() {
  const clock = createFakeClock();
  const store = await openTestStore({ clock });
  const approver = createApprover();
  const surface = (via: 'editor' | 'cli') =>
    createApprovals({ requests: store.requests, audit: store.audit, clock, via, trustedKeys: async () => [approver.pinned] });
  const approvals = surface('editor');
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const app = { approvals, close: async () => undefined } as unknown as App;
  const session = new AppSession(
    async () => app,
    (error) => expect.fail(String(error)),
  );
  const before = await opened(store, draftOf());
  session.reload();
  const following = logRequests(session, { debug: say, info: say, warn: say, error: say });
  onTestFinished(() => void following.dispose());
  await session.use(async () => undefined);
  await vi.waitFor(async () => expect(await store.requests.countPending()).toBe(1));
  const until = (text: string) => vi.waitFor(() => expect(lines.join('\n')).toContain(text), { timeout: 5_000 });
  return { clock, store, approver, approvals, terminal: surface('cli'), lines, before, until };
}

async function found(approvals: ReturnType<typeof createApprovals>, id: string) {
  const record = await approvals.get(id);
  if (record === undefined) throw new Error('gone');
  return record;
}

const another = (vmid: number) => draftOf({ action: stopAction(vmid), title: `Stop VM ${vmid} (web${vmid}) on pve` });

describe('the log', () => {
  it('has a line for each answer, whoever gave it and wherever', async () => {
    const { store, approver, approvals, terminal, lines, before, until } = await createDesk();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(lines).toEqual([]);
    await terminal.deny(before.id, 'user:bob', 'not\nnow');
    await until(`denied: Stop VM 100 (web100) on pve (${before.id}) by user:bob via cli: not\\nnow`);
    const second = await opened(store, another(101));
    await until(`asked: Stop VM 101 (web101) on pve (${second.id}) by mcp:laptop through mcp`);
    await approvals.approve(second.id, approver.signer);
    await until(`approved: Stop VM 101 (web101) on pve (${second.id}) by ${approver.signer.approver} via editor`);
    await approvals.consume(second.id, second.digest, 'host pid 7');
    await until(`used: Stop VM 101 (web101) on pve (${second.id}) by host pid 7`);
    const third = await opened(store, another(102));
    await terminal.approve(third.id, approver.signer);
    await terminal.revoke(third.id, 'user:carol');
    await until(`revoked: Stop VM 102 (web102) on pve (${third.id}) by user:carol via cli`);
  });

  it('tells an approval also where it was used before anybody looked', async () => {
    const { store, approver, approvals } = await createDesk();
    const second = await opened(store, another(101));
    await approvals.approve(second.id, approver.signer);
    await approvals.consume(second.id, second.digest, 'host pid 7');
    const record = await found(approvals, second.id);
    expect(linesOf({ record, before: 'pending' }).map((line) => line.split(':')[0])).toEqual(['approved', 'used']);
    expect(linesOf({ record, before: 'approved' }).map((line) => line.split(':')[0])).toEqual(['used']);
  });

  it('says of what expired whether anybody had decided', async () => {
    const { clock, store, approver, approvals, before } = await createDesk();
    const second = await opened(store, another(101));
    await approvals.approve(second.id, approver.signer);
    clock.advance(requestLifeMs + 1);
    const ended = (id: string) => found(approvals, id);
    expect(linesOf({ record: await ended(before.id), before: 'pending' })).toEqual([
      `expired: Stop VM 100 (web100) on pve (${before.id}): nobody decided`,
    ]);
    expect(linesOf({ record: await ended(second.id), before: 'approved' })).toEqual([
      expect.stringMatching(/^expired: Stop VM 101 .*: approved by \w+, not used in time$/),
    ]);
  });
});
