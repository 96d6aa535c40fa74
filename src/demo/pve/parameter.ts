/** Parameter checks with the texts of `PVE/JSONSchema.pm`. */
import { badParameters } from './api-error.ts';
import { formats, splitList } from './formats.ts';

/** The part of PVE's JSON schema that the methods here use. */
export interface ParameterSpec {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'array';
  readonly optional?: true;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  /** Anchored regular expression source. */
  readonly pattern?: string;
  readonly format?: keyof typeof formats;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  /** Another parameter that must come with it. */
  readonly requires?: string;
  /** Keys of a property string (`local:8,format=qcow2`). */
  readonly properties?: ParameterSpecs;
  /** Of a property string's key: a part without a key is its value. */
  readonly default?: true;
  /** Of a property string's key: another name of this one. */
  readonly alias?: string;
}

export type ParameterSpecs = Readonly<Record<string, ParameterSpec>>;

/** What PVE does first, for the sake of forms: one value where a list is wanted becomes a list, a list for a `…-list` format a text. */
export function normalizeParameters(specs: ParameterSpecs, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, normalized(specOf(specs, name), value)]));
}

function normalized(spec: ParameterSpec | undefined, value: unknown): unknown {
  if (spec === undefined) return value;
  // Perl's truth: an empty text and `0` are not worth a list.
  if (spec.type === 'array') return typeof value === 'string' && !['', '0'].includes(value) ? [value] : value;
  const isList = spec.format?.endsWith('-list') ?? false;
  return isList && Array.isArray(value) ? value.join(',') : value;
}

/** The declaration behind `scsi3`: its own, or that of `scsi[n]`. */
export function specOf(specs: ParameterSpecs, name: string): ParameterSpec | undefined {
  if (Object.hasOwn(specs, name)) return specs[name];
  const [, stem = '', number = ''] = /^([a-z]+)(0|[1-9]\d{0,2})$/.exec(name) ?? [];
  return stem !== '' && Number(number) < (counts[stem] ?? 256) ? specs[`${stem}[n]`] : undefined;
}

/** How many there may be of a numbered option; 256 where nothing is said. */
const counts: Readonly<Record<string, number>> = {
  hostpci: 16,
  ide: 4,
  ipconfig: 32,
  net: 32,
  numa: 8,
  parallel: 3,
  sata: 6,
  scsi: 31,
  serial: 4,
  usb: 14,
  virtio: 16,
  virtiofs: 10,
};

function formatErrorOf({ format }: ParameterSpec, text: string): string | undefined {
  return format === undefined ? undefined : formats[format](text);
}

export interface PropertyString {
  readonly values: Readonly<Record<string, string>>;
  /** Undefined: it is well formed. */
  readonly error: string | undefined;
}

/** `parse_property_string`: keys and values, checked against their declaration. @param path name of the parameter, for the texts */
export function readProperties(specs: ParameterSpecs, text: string, path: string): PropertyString {
  const values: Record<string, string> = {};
  for (const part of text.split(',').filter((one) => one.trim() !== '')) {
    const pairs = pairsIn(specs, part);
    if (typeof pairs === 'string') return { values, error: pairs };
    const twice = pairs.find(([key]) => Object.hasOwn(values, key));
    if (twice !== undefined) return { values, error: `duplicate key in comma-separated list property: ${twice[0]}` };
    for (const [key, value] of pairs) values[key] = value;
  }
  return { values, error: propertyErrors(specs, values, path) };
}

/** What a part of a property string sets, or why it is none. */
function pairsIn(specs: ParameterSpecs, part: string): [string, string][] | string {
  const [, key, value = ''] = /^([^=]+)=(.+)$/s.exec(part) ?? [];
  if (key === undefined) return bareValue(specs, part);
  const spec = specs[key];
  if (spec !== undefined) return [[spec.alias ?? key, spec.type === 'boolean' ? plainBoolean(value) : value]];
  // `virtio=BC:24:…` is short for `model=virtio,macaddr=BC:24:…`.
  if (!isModel(specs, key)) return `invalid key in comma-separated list property: ${key}`;
  return [
    ['model', key],
    ['macaddr', value],
  ];
}

function isModel(specs: ParameterSpecs, key: string): boolean {
  return specs['macaddr'] !== undefined && specs['model']?.enum?.includes(key) === true;
}

function bareValue(specs: ParameterSpecs, part: string): [string, string][] | string {
  if (part.includes('=')) return 'missing key in comma-separated list property';
  const own = Object.keys(specs).find((name) => specs[name]?.default === true);
  return own === undefined ? 'value without key, but schema does not define a default key' : [[own, part]];
}

function plainBoolean(value: string): string {
  if (/^(?:on|yes|true)$/i.test(value)) return '1';
  return /^(?:off|no|false)$/i.test(value) ? '0' : value;
}

/** PVE's exception as text: each key with its reason, one a line. */
function propertyErrors(specs: ParameterSpecs, values: Readonly<Record<string, string>>, path: string): string | undefined {
  const reasons = Object.entries(specs).flatMap(([key, spec]) => {
    const reason = spec.alias === undefined ? checkProperty(`${path}.${key}`, spec, values[key]) : undefined;
    return reason === undefined ? [] : [`${path}.${key}: ${reason}`];
  });
  return reasons.length === 0 ? undefined : `format error\n${reasons.join('\n')}`;
}

const unknownProperty = 'property is not defined in schema and the schema does not allow additional properties';

/** @throws {ApiError} 400 with a reason for each parameter that does not fit */
export function verifyParameters(specs: ParameterSpecs, values: Readonly<Record<string, unknown>>): void {
  const errors: Record<string, string> = {};
  for (const name of new Set([...Object.keys(specs), ...Object.keys(values)])) {
    const spec = specOf(specs, name);
    const reason = spec === undefined ? unknownProperty : name.endsWith('[n]') ? undefined : checkProperty(name, spec, values[name]);
    if (reason !== undefined) errors[name] = reason;
    const partner = spec?.requires;
    if (partner !== undefined && isMissing(values[partner]) && !isMissing(values[name]))
      errors[partner] = `missing property required by '${name}'`;
  }
  if (Object.keys(errors).length > 0) throw badParameters(errors);
}

function isMissing(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

function checkProperty(name: string, spec: ParameterSpec, value: unknown): string | undefined {
  if (isMissing(value)) return spec.optional === true ? undefined : 'property is missing and it is not optional';
  const typeError = checkType(spec.type, value);
  if (typeError !== undefined || typeof value === 'object') return typeError;
  return checkText(name, spec, scalarText(value));
}

function checkText(name: string, spec: ParameterSpec, text: string): string | undefined {
  const formatError = spec.properties === undefined ? formatErrorOf(spec, text) : readProperties(spec.properties, text, name).error;
  if (formatError !== undefined) return `invalid format - ${formatError}\n`;
  if (spec.minLength !== undefined && text.length < spec.minLength) return `value must be at least ${spec.minLength} characters long`;
  if (spec.pattern !== undefined && !new RegExp(`^(?:${spec.pattern})$`).test(text)) return 'value does not match the regex pattern';
  if (spec.maxLength !== undefined && text.length > spec.maxLength) return `value may only be ${spec.maxLength} characters long`;
  return checkRange(spec, text) ?? checkEnumeration(spec, text);
}

function checkRange(spec: ParameterSpec, text: string): string | undefined {
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return undefined;
  if (spec.maximum !== undefined && Number(text) > spec.maximum) return `value must have a maximum value of ${spec.maximum}`;
  if (spec.minimum !== undefined && Number(text) < spec.minimum) return `value must have a minimum value of ${spec.minimum}`;
  return undefined;
}

function checkEnumeration(spec: ParameterSpec, text: string): string | undefined {
  if (spec.enum === undefined || spec.enum.includes(text)) return undefined;
  return `value '${text}' does not have a value in the enumeration '${spec.enum.join(', ')}'`;
}

const scalarForms: Readonly<Record<string, RegExp>> = {
  boolean: /^[01]$/,
  integer: /^[+-]?\d+$/,
  number: /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/,
};

function checkType(type: ParameterSpec['type'], value: unknown): string | undefined {
  const fails = `type check ('${type}') failed`;
  if (type === 'array') return Array.isArray(value) ? undefined : fails;
  const reference = referenceName(value);
  if (reference !== undefined) return type === 'boolean' && typeof value === 'boolean' ? undefined : `${fails} - got ${reference}`;
  const form = scalarForms[type];
  return form === undefined || form.test(String(value)) ? undefined : `${fails} - got '${String(value)}'`;
}

/** What Perl's `ref` says of a decoded JSON value; undefined for a plain scalar. */
function referenceName(value: unknown): string | undefined {
  if (typeof value === 'boolean') return 'JSON::PP::Boolean';
  if (Array.isArray(value)) return 'ARRAY';
  return typeof value === 'object' ? 'HASH' : undefined;
}

/** A scalar as text; what is none was refused or is read with `list`. */
export function scalarText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Verified parameters, read in the type the method wants. Undefined: not given. */
export interface Parameters {
  text(name: string): string | undefined;
  integer(name: string): number | undefined;
  /** False when absent or `0`. */
  flag(name: string): boolean;
  list(name: string): readonly string[];
  has(name: string): boolean;
  /** Those that were given, those of the path included. */
  names(): readonly string[];
}

export function readParameters(values: Readonly<Record<string, unknown>>): Parameters {
  const text = (name: string): string | undefined => (isMissing(values[name]) ? undefined : scalarText(values[name]));
  return {
    text,
    integer(name) {
      const value = text(name);
      return value === undefined ? undefined : Number(value);
    },
    flag: (name) => values[name] === true || text(name) === '1',
    list(name) {
      const value = values[name];
      return Array.isArray(value) ? value.map(String) : splitList(text(name) ?? '');
    },
    has: (name) => !isMissing(values[name]),
    names: () => Object.keys(values).filter((name) => !isMissing(values[name])),
  };
}
