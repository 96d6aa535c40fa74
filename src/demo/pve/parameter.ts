/** Parameter checks with the texts of `PVE/JSONSchema.pm`. */
import { badParameters } from './api-error.ts';

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
  /** Another parameter that must come with it. */
  readonly requires?: string;
}

export type ParameterSpecs = Readonly<Record<string, ParameterSpec>>;

type Format = (value: string) => string | undefined;

function matching(pattern: RegExp, reason: (value: string) => string): Format {
  return (value) => (pattern.test(value) ? undefined : reason(value));
}

function eachOf(check: Format): Format {
  return (list) =>
    splitList(list)
      .map(check)
      .find((reason) => reason !== undefined);
}

const vmid = matching(/^[1-9][0-9]{2,8}$/, () => 'value does not look like a valid VM ID');
const configId = matching(/^[a-z][a-z0-9_-]+$/i, (value) => `invalid configuration ID '${value}'`);
const storageContent = matching(
  /^(?:images|rootdir|vztmpl|iso|backup|snippets|none|import)$/,
  (value) => `invalid content type '${value}'`,
);

/** Format → why a text is none; undefined: it is one. */
export const formats = {
  'pve-node': matching(/^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/, () => 'value does not look like a valid node name'),
  'pve-vmid': vmid,
  'pve-vmid-list': eachOf(vmid),
  'pve-configid': configId,
  'pve-configid-list': eachOf(configId),
  'pve-storage-id': storageId,
  'pve-storage-content': storageContent,
  'pve-storage-content-list': eachOf(storageContent),
  'pve-ha-resource-or-vm-id': matching(/^(?:[a-z]+:\S+|\d+)$/, () => 'value does not look like a valid ha resource id'),
  'pve-userid': userId,
  'pve-task-status-type-list': eachOf(matching(/^(?:ok|error|warning|unknown)$/i, (value) => `invalid status '${value}'`)),
} as const satisfies Record<string, Format>;

function userId(value: string): string | undefined {
  if (value.length < 3) return `user name '${value}' is too short`;
  if (value.length > 64) return `user name '${value}' is too long (${value.length} > 64)`;
  return /^[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+$/.test(value) ? undefined : `value '${value}' does not look like a valid user name`;
}

function storageId(value: string): string | undefined {
  if (value.length < 2) return `storage ID '${value}' cannot be shorter than 2 characters`;
  return /^[a-z][a-z0-9_.-]*[a-z0-9]$/i.test(value) ? undefined : `storage ID '${value}' contains illegal characters`;
}

/** PVE's `split_list`: commas, semicolons, white space and NULs separate. */
export function splitList(list: string): string[] {
  return list.split(/[,;\s\0]+/).filter((one) => one !== '');
}

/** What PVE does first, for the sake of forms: one value where a list is wanted becomes a list, a list for a `…-list` format a text. */
export function normalizeParameters(specs: ParameterSpecs, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, normalized(specs[name], value)]));
}

function normalized(spec: ParameterSpec | undefined, value: unknown): unknown {
  if (spec === undefined) return value;
  // Perl's truth: an empty text and `0` are not worth a list.
  if (spec.type === 'array') return typeof value === 'string' && !['', '0'].includes(value) ? [value] : value;
  const isList = spec.format?.endsWith('-list') ?? false;
  return isList && Array.isArray(value) ? value.join(',') : value;
}

const unknownProperty = 'property is not defined in schema and the schema does not allow additional properties';

/** @throws {ApiError} 400 with a reason for each parameter that does not fit */
export function verifyParameters(specs: ParameterSpecs, values: Readonly<Record<string, unknown>>): void {
  const errors: Record<string, string> = {};
  for (const [name, spec] of Object.entries(specs)) {
    const reason = checkProperty(spec, values[name]);
    if (reason !== undefined) errors[name] = reason;
  }
  for (const [name, value] of Object.entries(values)) {
    const spec = specs[name];
    if (spec === undefined) errors[name] = unknownProperty;
    else if (spec.requires !== undefined && isMissing(values[spec.requires]) && !isMissing(value)) {
      errors[spec.requires] = `missing property required by '${name}'`;
    }
  }
  if (Object.keys(errors).length > 0) throw badParameters(errors);
}

function isMissing(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

function checkProperty(spec: ParameterSpec, value: unknown): string | undefined {
  if (isMissing(value)) return spec.optional === true ? undefined : 'property is missing and it is not optional';
  const typeError = checkType(spec.type, value);
  if (typeError !== undefined || typeof value === 'object') return typeError;
  return checkText(spec, scalarText(value));
}

function checkText(spec: ParameterSpec, text: string): string | undefined {
  const formatError = spec.format === undefined ? undefined : formats[spec.format](text);
  if (formatError !== undefined) return `invalid format - ${formatError}\n`;
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
  };
}
