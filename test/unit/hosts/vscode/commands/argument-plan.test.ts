import { describe, expect, it } from 'vitest';
import { describeTools } from '#app/catalog';
import { argumentPlan } from '#hosts/vscode/commands/picks';
import { isPaletteTool } from '#hosts/vscode/contributes/names';

const planOf = (name: string) => {
  const tool = describeTools().find((entry) => entry.name === name);
  if (!tool) throw new Error(`no tool ${name}`);
  return argumentPlan(tool);
};

describe('argumentPlan, from the real catalog', () => {
  it.each([
    ['stop_vm', { kind: 'guest', guestType: 'qemu', running: true }],
    ['restart_container', { kind: 'guest', guestType: 'lxc', running: true }],
    ['start_vm', { kind: 'guest', guestType: 'qemu', running: false }],
  ])('%s asks for the cluster, then a guest of its kind and state', (name, guest) => {
    expect(planOf(name)).toEqual([{ kind: 'cluster' }, guest]);
  });

  it.each([
    ['shutdown_vm', 'qemu'],
    ['shutdown_container', 'lxc'],
  ])('%s offers what runs of its kind, as stopping does', (name, guestType) => {
    expect(planOf(name)).toContainEqual({ kind: 'guest', guestType, running: true });
  });

  it('asks for a node, and for what else is needed', () => {
    expect(planOf('restart_service')).toEqual([
      { kind: 'cluster' },
      { kind: 'node', offlineFirst: false },
      { kind: 'text', name: 'service', prompt: expect.any(String), required: true },
    ]);
    expect(planOf('wake_node')).toContainEqual({ kind: 'node', offlineFirst: true });
  });

  it('offers the values of a closed list', () => {
    expect(planOf('get_cluster_resources')).toContainEqual(
      expect.objectContaining({ kind: 'choice', name: 'type', required: false, values: expect.arrayContaining(['vm', 'node']) }),
    );
  });

  it('knows what is a number, a yes or no, and a list', () => {
    expect(planOf('shutdown_vm')).toContainEqual(expect.objectContaining({ kind: 'text', name: 'timeout', type: 'integer' }));
    expect(planOf('delete_guest')).toContainEqual(
      expect.objectContaining({ kind: 'choice', name: 'purge', values: ['yes', 'no'], type: 'boolean' }),
    );
    expect(planOf('set_tags')).toContainEqual(expect.objectContaining({ kind: 'text', name: 'tags', type: 'list' }));
  });

  it('never asks a person for what only models need', () => {
    const asked = describeTools()
      .filter(isPaletteTool)
      .flatMap((tool) => argumentPlan(tool));
    const names = asked.flatMap((step) => ('name' in step ? [step.name] : []));
    expect(names).not.toEqual(expect.arrayContaining(['reason']));
    expect(names.filter((name) => ['limit', 'cursor', 'filter', 'reason'].includes(name))).toEqual([]);
  });

  it('covers every required argument of every palette tool', () => {
    for (const tool of describeTools().filter(isPaletteTool)) {
      const filled = argumentPlan(tool).flatMap((step): string[] => {
        if (step.kind === 'guest') return ['vmid', 'node'];
        return 'name' in step ? [step.name] : [step.kind];
      });
      expect(filled, tool.name).toEqual(expect.arrayContaining([...((tool.inputSchema.required as string[] | undefined) ?? [])]));
    }
  });
});
