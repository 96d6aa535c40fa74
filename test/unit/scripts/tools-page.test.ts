import { describe, expect, test } from 'vitest';
import { describeTools } from '#app/catalog';
import type { ToolDescription } from '#kernel/tool';
import { toolsPage } from '../../../scripts/docs/tools-page.ts';

const stop: ToolDescription = {
  name: 'stop_vm',
  title: 'Stop a VM',
  description: 'Stops it, at once.',
  group: 'cluster',
  tier: 'red',
  impact: 'disruptive',
  permission: 'cluster:operate',
  inputSchema: {
    type: 'object',
    properties: {
      vmid: { type: 'integer', minimum: 100, maximum: 999, description: 'Its number | VMID' },
      how: { enum: ['hard', 'soft'], default: 'hard' },
      count: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    },
    required: ['vmid'],
  },
};

describe('the page about the tools', () => {
  test('says of each argument its type, limits, default and whether it is required', () => {
    const page = toolsPage([stop]);
    expect(page).toContain('| `vmid` | integer, 100 to 999 | yes | Its number \\| VMID |');
    expect(page).toContain('| `how` | `hard` or `soft`, default `"hard"` |  |  |');
    expect(page).toContain('| `count` | integer |  |  |');
    expect(page).toContain('**Stop a VM.** Tier red, impact disruptive, needs `cluster:operate`.');
  });

  test('has no section for a group without tools', () => {
    expect(toolsPage([stop]).match(/^## .*$/gm)).toEqual(['## Cluster']);
  });

  test('holds every tool of the catalog once', () => {
    const names = describeTools().map(({ name }) => name);
    const sections = [...toolsPage(describeTools()).matchAll(/^### (.*)$/gm)].map((match) => match[1] ?? '');
    expect(names.length).toBeGreaterThan(0);
    expect(sections.toSorted()).toEqual(names.toSorted());
  });

  test('says so when a tool takes no arguments', () => {
    expect(toolsPage([{ ...stop, inputSchema: { type: 'object' } }])).toContain('No arguments.');
  });
});
