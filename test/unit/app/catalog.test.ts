import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalog, describeTools } from '#app/catalog';
import { actionTiers, impacts, permissions, toolGroups } from '#kernel/tiers';

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
  readonly description?: string;
  readonly [keyword: string]: unknown;
}

const tools = describeTools().map((tool) => [tool.name, tool, tool.inputSchema as Schema] as const);

/** The tiers of what is in this version. */
const tiers: Record<string, readonly string[]> = {
  green: [
    'get_cluster_status',
    'get_node_status',
    'get_vms',
    'get_containers',
    'get_storage',
    'get_cluster_resources',
    'get_node_temperature',
    'get_recent_tasks',
    'get_backups',
    'read_file',
    'list_directory',
    'search_files',
    'report_block',
    'get_security_status',
    'list_pending_approvals',
    'get_security_log',
    'check_request_status',
  ],
  yellow: ['execute_ssh', 'restart_service', 'wake_node', 'write_file', 'run_command'],
  red: ['start_vm', 'stop_vm', 'restart_vm', 'start_container', 'stop_container', 'restart_container'],
  black: ['reboot_node'],
};

function every(schema: Schema): readonly Schema[] {
  const inner = [...Object.values(schema.properties ?? {}), ...(schema.items === undefined ? [] : [schema.items])];
  return [schema, ...inner.flatMap(every)];
}

describe('the catalog', () => {
  it('has every tool in its action tier', () => {
    for (const tier of actionTiers) {
      const named = catalog.filter((tool) => tool.tier === tier).map((tool) => tool.name);
      expect(named.filter((name) => tiers[tier]?.includes(name) || !Object.values(tiers).flat().includes(name))).toEqual(named);
    }
    expect(catalog.map((tool) => tool.name)).toEqual(expect.arrayContaining(Object.values(tiers).flat()));
  });

  it('conceals only arguments that there are', () => {
    for (const tool of catalog) for (const name of tool.concealed ?? []) expect(Object.keys(tool.input.shape), tool.name).toContain(name);
    expect(catalog.find((tool) => tool.name === 'report_block')?.concealed).toEqual(['pattern']);
  });

  it('names each tool once, `verb_noun`', () => {
    const names = catalog.map((tool) => tool.name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+(?:_[a-z]+)+$/);
    expect(new Set(catalog.map((tool) => tool.title)).size).toBe(names.length);
  });

  it('holds no tool that approves, denies or sets anything', () => {
    for (const { name } of catalog)
      expect(name).not.toMatch(
        /approve|deny|grant|revoke|confirm|(?<!re)set_(?!tags$|guest_config$)|level|auto|trust|^(?!list_pending_approvals).*approv/,
      );
  });

  it('gives hosts no way to a handler', () => {
    for (const tool of describeTools()) expect(Object.values(tool).filter((value) => typeof value === 'function')).toEqual([]);
  });
});

describe.each(tools)('%s', (name, tool, schema) => {
  it('says what it does', () => {
    expect(tool.description.length).toBeGreaterThanOrEqual(60);
    expect(tool.description).toMatch(/\.$/);
    expect(tool.title.length).toBeGreaterThan(3);
    expect(toolGroups).toContain(tool.group);
    expect(impacts).toContain(tool.impact);
    expect(permissions).toContain(tool.permission);
  });

  it('changes nothing if it is green, and may be asked for if it is not', () => {
    expect(tool.tier === 'green').toBe(['data:read', 'file:read', 'code:search'].includes(tool.permission));
    expect(tool.impact === 'none' || tool.tier !== 'green').toBe(true);
    expect(tool.impact !== 'none' || tool.tier !== 'red').toBe(true);
    // `report_block` says by `reason` what it reports; a plan's question is asked by the tool that proposes it. The workspace's tools take nothing
    // else; a command or a content says what it is for.
    const asksBesides = ['report_block', 'propose_plan', 'undo_plan'].includes(name);
    expect('reason' in (schema.properties ?? {})).toBe((tool.tier !== 'green' && tool.group !== 'workspace') || asksBesides);
  });

  it('has a strict schema that every client understands', () => {
    expect(schema.type).toBe('object');
    const parts = every(schema);
    // A step's arguments are held to the strict schema of the step's own tool.
    const objects = parts.filter((part) => part.type === 'object' && !(name === 'propose_plan' && part.properties === undefined));
    expect(objects.map((part) => part.additionalProperties)).toEqual(objects.map(() => false));
    expect(objects.flatMap((part) => (part.required ?? []).filter((key) => !Object.hasOwn(part.properties ?? {}, key)))).toEqual([]);
    expect(parts.filter((part) => part.type === 'array' && part.items === undefined)).toEqual([]);
    for (const keyword of ['oneOf', 'anyOf', 'allOf', 'not', '$ref', '$defs', '$schema']) expect(schema).not.toHaveProperty(keyword);
  });

  it('describes every argument, none of which confirms anything', () => {
    for (const [key, part] of Object.entries(schema.properties ?? {})) {
      expect(key).not.toMatch(/confirm|approv|force|override|bypass|sudo|token|password|yes/i);
      expect(part.description, key).toMatch(/\w/);
      expect(part.type, key).toMatch(/^(?:string|integer|number|boolean|array|object)$/);
    }
  });

  it('keeps its schema (the committed snapshot is what clients see)', async () => {
    const file = path.resolve(import.meta.dirname, '../../fixtures/tools', `${name}.json`);
    await expect(`${JSON.stringify(tool, null, 2)}\n`).toMatchFileSnapshot(file);
  });
});
