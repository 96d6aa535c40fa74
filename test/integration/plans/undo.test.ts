/** Taking a plan back: what is done, in reverse order, on the way that each step kept. */
import { describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { call, guestStatus, type World } from '../app/support.ts';
import { approvedPlan, byAgent, ended, forEachTest, planAt, run, step } from './support.ts';

let world: World;
let app: LocalApp;
forEachTest((opened) => {
  ({ world, app } = opened);
});

function facts(vmid: number) {
  const guest = world.demo.cluster.state.guests.get(vmid);
  const config = Object.fromEntries([...(guest?.config ?? [])].filter(([key]) => key !== 'vmgenid' && key !== 'meta'));
  return { config, node: guest?.node, running: guest?.running, snapshots: guest?.snapshots.map(({ name }) => name) };
}

async function undo(id: string) {
  const back = await call(app, 'undo_plan', { plan_id: id }, byAgent);
  expect(back).toMatchObject({ status: 'pending' });
  const undoing = back.request_id ?? '';
  await app.approvals.approve(undoing, world.person);
  await run(app, undoing);
  expect(await ended(app, undoing)).toMatchObject({ standing: 'done', undoes: id });
  return back;
}

describe('undoing a plan', () => {
  it('returns configuration, tags, node and state', async () => {
    const before = facts(100);
    const id = await approvedPlan(world, app, [
      step('set_guest_config', { vmid: 100, description: 'planned', onboot: true }),
      step('set_tags', { vmid: 100, tags: ['planned'] }),
      step('shutdown_vm', { vmid: 100 }),
      step('migrate_guest', { vmid: 100, target: 'Home', with_local_disks: true }),
    ]);
    await run(app, id);
    expect(await ended(app, id)).toMatchObject({ standing: 'done' });
    expect(facts(100)).toMatchObject({ node: 'Home', running: false });
    await undo(id);
    expect(facts(100)).toEqual(before);
  });

  it('goes back to the snapshot that was taken before a step without a way back, and starts what ran', async () => {
    const before = facts(100);
    const disk = before.config['scsi0'];
    const id = await approvedPlan(world, app, [step('resize_disk', { vmid: 100, disk: 'scsi0', size: '+1G' }, { snapshot_first: true })]);
    const card = await app.approvals.card(id);
    expect(card?.detail).toMatch(/1\. Take snapshot bm-[0-9a-f]{6}-1 of VM 100/);
    expect(card?.detail).toContain('can be taken back by rollback_snapshot; what its disks and memory hold by then is lost');
    await run(app, id);
    expect(await ended(app, id)).toMatchObject({ standing: 'done' });
    expect(facts(100).config['scsi0']).not.toBe(disk);
    expect(await planAt(app, id)).toMatchObject({ undo_snapshots: [{ vmid: 100, name: expect.stringMatching(/^bm-/) }] });
    const back = await undo(id);
    expect(back.result).toMatchObject({
      steps: [{ title: /Roll/ }, { title: /Start/ }, { title: /Delete snapshot/ }].map(({ title }) => ({
        title: expect.stringMatching(title),
      })),
    });
    expect(facts(100)).toEqual(before);
    expect(guestStatus(world, 100)).toBe('running');
  });

  it('says what stays, and refuses where nothing comes back', async () => {
    const id = await approvedPlan(world, app, [
      step('set_tags', { vmid: 101, tags: ['x'] }),
      step('backup_guest', { vmid: 101, storage: 'nas' }),
    ]);
    expect(await call(app, 'undo_plan', { plan_id: id }, byAgent)).toMatchObject({ code: 'nothing_to_undo' });
    await run(app, id);
    await ended(app, id);
    const back = await undo(id);
    expect(back.message).toContain('step 2 stays (an archive is added on nas');
    const only = await approvedPlan(world, app, [step('backup_guest', { vmid: 101, storage: 'nas' })]);
    await run(app, only);
    await ended(app, only);
    expect(await call(app, 'undo_plan', { plan_id: only }, byAgent)).toMatchObject({ code: 'nothing_to_undo' });
  });

  it('a snapshot is no way back from a deletion', async () => {
    const steps = [step('delete_guest', { vmid: 101 }, { snapshot_first: true })];
    expect(await call(app, 'propose_plan', { steps }, byAgent)).toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(/^step 1: `snapshot_first`/),
    });
  });
});

it('snapshots that plans took are counted by doctor while they are there, and cleaned by a plan', async () => {
  const find = async () => (await app.doctor(new AbortController().signal)).filter(({ topic }) => topic === 'plans');
  expect(await find()).toEqual([]);
  const id = await approvedPlan(world, app, [step('restart_vm', { vmid: 100 }, { snapshot_first: true })]);
  expect(await app.plans.snapshots()).toEqual([]);
  await run(app, id);
  expect(await ended(app, id)).toMatchObject({ standing: 'done' });
  const [kept] = await app.plans.snapshots();
  expect(kept).toMatchObject({ cluster: 'demo', vmid: 100, name: expect.stringMatching(/^bm-[0-9a-f]{6}-1$/) });
  expect(await find()).toMatchObject([
    { state: 'ok', message: expect.stringContaining('one snapshot that a plan took as a way back is kept: bm-') },
  ]);
  const clean = await approvedPlan(world, app, [step('delete_snapshot', { vmid: 100, name: kept?.name ?? '' })]);
  await run(app, clean);
  expect(await ended(app, clean)).toMatchObject({ standing: 'done' });
  expect(await app.plans.snapshots()).toEqual([]);
  expect(await find()).toEqual([]);
});
