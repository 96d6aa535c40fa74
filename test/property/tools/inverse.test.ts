/** Every change to a guest says how it is taken back: with a call that its tool takes, or with a reason. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { catalog } from '#app/catalog';
import { type GuestCondition, inverseWords } from '#kernel/guest-condition';
import { tagsIn } from '#kernel/resource';
import { english } from '#kernel/text/message';
import { configurationInverse } from '#tools/operations/configuration';

const changing = catalog.filter((tool) => tool.tier === 'red' && tool.group === 'cluster');

const tag = fc.stringMatching(/^[a-z0-9_][a-z0-9_+.-]{0,8}$/);
const config = fc.record(
  {
    cores: fc.integer({ min: 1, max: 64 }).map(String),
    memory: fc.integer({ min: 16, max: 65_536 }).map(String),
    tags: fc.array(tag, { minLength: 1, maxLength: 4 }).map((tags) => tagsIn(tags.join(' ')).join(';')),
    description: fc.stringMatching(/^[a-zA-Z][a-zA-Z ]{0,20}$/),
    onboot: fc.constantFrom('0', '1'),
  },
  { requiredKeys: [] },
);
const condition = (values: Readonly<Record<string, string>>): GuestCondition => ({
  vmid: 100,
  exists: true,
  node: 'pve',
  status: 'running',
  config: values,
});

const input = fc.record(
  {
    cores: fc.integer({ min: 1, max: 64 }),
    memory: fc.integer({ min: 16, max: 65_536 }),
    tags: fc.array(tag, { maxLength: 4 }),
    description: fc.stringMatching(/^[a-zA-Z ]{0,20}$/),
    onboot: fc.boolean(),
  },
  { requiredKeys: [] },
);

/** What the API makes of a call: a model of its configuration. */
function applied(values: Readonly<Record<string, string>>, call: Record<string, unknown>): Record<string, string> {
  const next: Record<string, string> = { ...values };
  const put = (key: string, value: string) => {
    if (value === '') delete next[key];
    else next[key] = value;
  };
  if (typeof call['cores'] === 'number') put('cores', String(call['cores']));
  if (typeof call['memory'] === 'number') put('memory', String(call['memory']));
  if (Array.isArray(call['tags'])) put('tags', tagsIn(call['tags'].join(' ')).join(';'));
  if (typeof call['description'] === 'string') put('description', call['description']);
  if (typeof call['onboot'] === 'boolean') put('onboot', call['onboot'] ? '1' : '0');
  for (const key of (call['unset'] as string[] | undefined) ?? []) delete next[key];
  return next;
}

it('the inverse of a configuration change puts every value back, whatever was set and is set', () => {
  fc.assert(
    fc.property(config, input, (before, change) => {
      const back = configurationInverse({ vmid: 100, ...change }, [condition(before)]);
      if (!('tool' in back)) throw new Error(back.none);
      expect(applied(applied(before, change), back.input)).toEqual(before);
      const tool = catalog.find(({ name }) => name === back.tool);
      expect(tool?.input.safeParse(back.input).success).toBe(true);
    }),
  );
});

describe.each(changing.map((tool) => [tool.name, tool] as const))('%s', (_name, tool) => {
  const given = {
    vmid: 100,
    name: 'before1',
    storage: 'local',
    new_vmid: 300,
    target: 'Home',
    node: 'pve',
    disk: 'scsi0',
    size: '+1G',
    tags: ['web'],
    archive: 'local:backup/vzdump-qemu-100-2026_11_22-19_09_07.vma.zst',
  };
  const own = tool.input.parse(Object.fromEntries(Object.entries(given).filter(([key]) => Object.hasOwn(tool.input.shape, key))));

  it('says what it depends on, and how it is taken back', () => {
    expect(tool.precondition).toBeDefined();
    expect(tool.inverse).toBeDefined();
    const back = tool.inverse?.(own, [condition({ tags: 'old' })]) ?? { none: '' };
    expect(english(inverseWords(back))).toMatch(/^(?:can be taken back by [a-z_]+|cannot be taken back: .{10,})/);
    const inverse = 'tool' in back ? catalog.find(({ name }) => name === back.tool) : undefined;
    expect('tool' in back).toBe(inverse !== undefined);
    expect(inverse === undefined || inverse.input.safeParse('tool' in back ? back.input : {}).success).toBe(true);
    // What cannot be taken back is not called reversible, but for a backup, which only adds an archive.
    expect(tool.impact === 'reversible' && 'none' in back).toBe(false);
  });
});
