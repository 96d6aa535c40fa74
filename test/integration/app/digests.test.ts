/** The digest that Proxmox VE keeps of a configuration: what was approved for one is not done to another. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { App } from '#kernel/app';
import type { Outcome } from '#kernel/outcome';
import { agent, approvedCall, startWorld, type World } from './support.ts';

let world: World;
let app: App;
beforeEach(async () => {
  world = await startWorld();
  app = await world.open();
});
afterEach(async () => {
  await world.close();
});

function guest(vmid: number) {
  const found = world.demo.cluster.state.guests.get(vmid);
  if (found === undefined) throw new Error(`no guest ${vmid}`);
  return found;
}

const approved = (tool: string, input: unknown): Promise<Outcome> => approvedCall(world, app, { tool, input });

/** What somebody else does in the time that a person thinks. */
async function driftWhileAsked(tool: string, input: unknown, drift: () => void): Promise<Outcome> {
  return app.call({
    ...{ tool, input, agent, signal: new AbortController().signal, waitMs: 60_000 },
    gate: {
      ask: (request) => {
        drift();
        void app.approvals.approve(request.id, world.person);
      },
    },
  });
}

describe.each([
  ['set_guest_config', { vmid: 101, cores: 4 }],
  ['set_guest_config', { vmid: 201, cores: 4 }],
  ['set_tags', { vmid: 101, tags: ['new'] }],
  ['set_tags', { vmid: 201, tags: ['new'] }],
  ['resize_disk', { vmid: 101, disk: 'scsi0', size: '+1G' }],
  ['resize_disk', { vmid: 201, disk: 'rootfs', size: '+1G' }],
])('the digest of what %s %o was approved for', (tool, input) => {
  const textOf = () => JSON.stringify([...guest(input.vmid).config]);
  const change = () => void guest(input.vmid).config.set('description', 'somebody else');

  it('is another one after the last look: PVE refuses it, and nothing is changed', async () => {
    let after = '';
    const outcome = await approvedCall(world, app, {
      ...{ tool, input },
      onProgress: (message) => {
        if (!message.includes('asking the cluster') || after !== '') return;
        change();
        after = textOf();
      },
    });
    expect(outcome.status).toBe('error');
    expect(`${outcome.code} ${outcome.message}`).toMatch(/config_changed|checksum mismatch|detected modified configuration/);
    expect(textOf()).toBe(after);
  });

  it('is another one once the person has answered: it is not sent', async () => {
    const outcome = await driftWhileAsked(tool, input, change);
    expect(outcome).toMatchObject({ status: 'denied', code: 'target_changed', message: expect.stringContaining('its configuration') });
    expect(guest(input.vmid).config.get('description')).toBe('somebody else');
    expect(world.demo.cluster.tasks.list().filter(({ type }) => type === 'resize')).toEqual([]);
  });

  it('is missing: nothing is sent, for nobody would notice a change', async () => {
    const kind = guest(input.vmid).kind;
    const config = Object.fromEntries(guest(input.vmid).config);
    world.demo.faults.api({
      ...{ method: 'GET', path: `^/nodes/[^/]+/${kind}/${input.vmid}/config$` },
      effect: { kind: 'status', status: 200, reason: 'OK', body: JSON.stringify({ data: config }) },
    });
    const before = textOf();
    expect(await approved(tool, input)).toMatchObject({ status: 'error', code: 'pve_bad_answer', effect: { state: 'not_sent' } });
    expect(textOf()).toBe(before);
  });
});
