import { describe, expect, it } from 'vitest';
import { announce } from '#app/announce';
import { catalog } from '#app/catalog';
import { settingsOf } from '../pipeline/support/bench.ts';

const say = (tool: string, input: unknown, config: object = {}) => announce(tool, input, { tools: catalog, settings: settingsOf(config) });

describe('what is about to run', () => {
  it('is said from the literal arguments', () => {
    expect(say('stop_vm', { vmid: '100', node: 'pve' })).toEqual({ title: 'Stop VM 100 on pve', asks: true });
    expect(say('stop_container', { vmid: 200 })).toEqual({ title: 'Stop container 200', asks: true });
    expect(say('restart_service', { node: 'pve', service: 'nginx' })).toEqual({ title: 'Restart nginx on pve', asks: false });
    expect(say('execute_ssh', { node: 'pve', command: 'uptime' })).toEqual({ title: 'Run "uptime" on node pve', asks: false });
    expect(say('wake_node', { node: 'pve' })).toEqual({ title: 'Wake node pve', asks: false });
    expect(say('get_vms', undefined)).toEqual({ title: 'List the VMs', asks: false });
  });

  it('asks as the tiers and the level say', () => {
    expect(say('wake_node', { node: 'pve' }, { securityLevel: 'strict' })?.asks).toBe(true);
    // Its one question was asked when the plan was approved.
    expect(say('run_plan', { plan_id: 'req-1a2b3c4d' }, { securityLevel: 'strict' })?.asks).toBe(false);
    expect(say('get_vms', {}, { securityLevel: 'strict' })?.asks).toBe(false);
    expect(say('get_vms', {}, { tiers: { get_vms: 'red' } })?.asks).toBe(true);
    expect(say('stop_vm', { vmid: 100 }, { tiers: { stop_vm: 'green' } })?.asks).toBe(true);
  });

  it('is not said of invalid input or an unknown tool', () => {
    expect(say('stop_vm', {})).toBeUndefined();
    expect(say('stop_vm', { vmid: 100, confirmed: true })).toBeUndefined();
    expect(say('nope', {})).toBeUndefined();
  });

  it.each(catalog.map((tool) => [tool.name]))('%s has a headline', (name) => {
    const input = {
      vmid: 100,
      node: 'pve',
      service: 'nginx',
      command: 'uptime',
      request_id: 'req-1a2b3c4d',
      plan_id: 'req-1a2b3c4d',
      steps: [{ tool: 'start_vm', arguments: { vmid: 100 } }],
      run_id: 'm1-1a2b3c4d',
      path: 'a.txt',
      pattern: 'x',
      content: 'x',
      name: 'before1',
      storage: 'local',
      new_vmid: 300,
      target: 'Home',
      disk: 'scsi0',
      size: '+1G',
      tags: ['web'],
      archive: 'local:backup/vzdump-qemu-100-2026_11_22-19_09_07.vma.zst',
      edits: [{ old_text: 'x', new_text: 'y' }],
      ...(name === 'report_block' ? { reason: 'url_blocked', destination: 'api.example.com' } : {}),
    };
    const tool = catalog.find((entry) => entry.name === name);
    const own = Object.fromEntries(Object.entries(input).filter(([key]) => Object.hasOwn(tool?.input.shape ?? {}, key)));
    expect(say(name, own)?.title).toMatch(/^[A-Z]/);
  });
});
