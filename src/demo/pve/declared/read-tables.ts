/** The declared tables as what `dispatch.ts` works with. A file per kind of table; this one knows their form. */
import type { ApiMethod, Permission, Verb } from '../api-method.ts';
import type { ParameterSpec, ParameterSpecs } from '../parameter.ts';
import { clusterMethodTable, guestMethodTable } from './methods.ts';
import { parameterGroups, propertyStrings } from './parameters.ts';

type Block = readonly [head: string, lines: readonly string[]];

/** A head at the margin, and the indented lines below it. */
function blocks(table: string): Block[] {
  return table
    .trim()
    .split(/\n(?! )/)
    .map((block) => {
      const [head = '', ...lines] = block.split('\n');
      return [head, lines.map((line) => line.trim())];
    });
}

const indexed = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Every place a VM's disk may have, in PVE's order. */
export const drivePlaces: readonly string[] = [
  ...indexed('ide', 4),
  ...indexed('scsi', 31),
  ...indexed('virtio', 16),
  ...indexed('sata', 6),
  'efidisk0',
  'tpmstate0',
];

/** Every place a container's volume may have. */
export const mountPlaces: readonly string[] = ['rootfs', ...indexed('mp', 256)];

const enumerations: Readonly<Record<string, readonly string[]>> = {
  '@drives': drivePlaces,
  '@drives+unused': [...drivePlaces, ...indexed('unused', 256)],
  '@mountpoints': mountPlaces,
  '@mountpoints+unused': [...mountPlaces, ...indexed('unused', 256)],
};

const numeric = new Set(['minimum', 'maximum', 'minLength', 'maxLength']);

/** `name type[?] key=value …`, `default` for the key that may be left out. A pattern is the rest of its line. */
function parameterIn(line: string): [string, ParameterSpec] {
  const [, name = '', type = '', optional = '', rest = ''] = /^(\S+) (\w+)(\??) ?(.*)$/.exec(line) ?? [];
  const [before = '', pattern] = rest.split(/(?:^|(?<= ))pattern=/);
  const words = before.split(' ').filter((word) => word !== '');
  const facts = words.filter((word) => word.includes('=')).map((word) => factIn(word));
  return [
    name,
    {
      ...({ type, ...Object.fromEntries(facts) } as ParameterSpec),
      ...(optional === '' ? {} : { optional: true as const }),
      ...(pattern === undefined ? {} : { pattern }),
      ...(words.includes('default') ? { default: true as const } : {}),
    },
  ];
}

function factIn(word: string): [string, unknown] {
  const at = word.indexOf('=');
  const [key, value] = [word.slice(0, at), word.slice(at + 1)];
  if (key === 'enum') return [key, enumerations[value] ?? value.split('|')];
  if (key === 'of') return ['properties', groupIn(properties, value)];
  return [key, numeric.has(key) ? Number(value) : value];
}

type Groups = ReadonlyMap<string, readonly string[]>;

const properties: Groups = new Map(blocks(propertyStrings));
const groups: Groups = new Map(blocks(parameterGroups));

function groupIn(known: Groups, name: string): ParameterSpecs {
  const lines = known.get(name);
  if (lines === undefined) throw new Error(`no group \`${name}\``);
  return parametersIn(lines, known);
}

function parametersIn(lines: readonly string[], known: Groups): ParameterSpecs {
  return Object.fromEntries(
    lines.flatMap((line) => (line.startsWith('+ ') ? Object.entries(groupIn(known, line.slice(2))) : [parameterIn(line)])),
  );
}

/** What a configuration of that kind may hold. `scsi[n]` stands for `scsi0`, `scsi1`, … */
export const guestOptions: Readonly<Record<'qemu' | 'lxc', ParameterSpecs>> = {
  qemu: groupIn(groups, 'qemu'),
  lxc: groupIn(groups, 'lxc'),
};

type Declared = Omit<ApiMethod, 'run'>;

function methodIn([head, lines]: Block): [string, Declared] {
  const [verb = '', path = '', where = '', ...more] = head.split(' ');
  const privileges = more.find((word) => word !== 'local');
  const declared: Declared = {
    verb: verb as Verb,
    path,
    permission: permissionOf(where, privileges),
    proxied: path.startsWith('/nodes/{node}') && !more.includes('local'),
    parameters: parametersIn(lines, groups),
  };
  return [`${verb} ${path}`, declared];
}

/** Several privileges, or one with a bar behind it: any of them will do. */
function permissionOf(where: string, privileges: string | undefined): Permission {
  if (privileges === undefined) return 'all';
  const names = privileges.split('|').filter((name) => name !== '');
  return { path: where, privileges: names, ...(privileges.includes('|') ? { any: true } : {}) };
}

const methods: ReadonlyMap<string, Declared> = new Map(blocks(`${guestMethodTable.trim()}\n${clusterMethodTable.trim()}`).map(methodIn));

/** A method of the tables with what it does. */
export function operation(verbAndPath: `${Verb} ${string}`, run: ApiMethod['run']): ApiMethod {
  const declared = methods.get(verbAndPath);
  if (declared === undefined) throw new Error(`\`${verbAndPath}\` is in no table`);
  return { ...declared, run };
}

/** The same for a VM and a container, whose paths differ in one word. */
export function guestOperations(verb: Verb, below: string, run: (kind: 'qemu' | 'lxc') => ApiMethod['run']): readonly ApiMethod[] {
  return (['qemu', 'lxc'] as const).map((kind) => operation(`${verb} /nodes/{node}/${kind}/{vmid}${below}`, run(kind)));
}
