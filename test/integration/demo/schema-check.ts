/** Holds a value against the part of PVE's JSON schema that the contract uses. PVE's booleans are 0 and 1. */

export interface ReturnSchema {
  readonly type?: string;
  readonly optional?: number;
  readonly properties?: Readonly<Record<string, ReturnSchema>>;
  readonly items?: ReturnSchema;
  readonly enum?: readonly (string | number)[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** What does not fit, one line each; an empty list is a pass. Undeclared fields are allowed, as the real answers have them. */
export function misfits(schema: ReturnSchema, value: unknown, path = 'data'): string[] {
  const typed = typeMisfit(schema.type, value);
  if (typed !== undefined) return [`${path}: ${typed}`];
  return [...valueMisfits(schema, value, path), ...itemMisfits(schema, value, path), ...propertyMisfits(schema, value, path)];
}

const checks: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  boolean: (value) => value === 0 || value === 1,
  array: Array.isArray,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  null: (value) => value === null,
};

function typeMisfit(type: string | undefined, value: unknown): string | undefined {
  if (type === undefined) return undefined;
  const check = checks[type];
  if (check === undefined) throw new Error(`the contract has a type that this check does not know: ${type}`);
  return check(value) ? undefined : `is ${JSON.stringify(value)}, not ${type}`;
}

function valueMisfits(schema: ReturnSchema, value: unknown, path: string): string[] {
  const found: string[] = [];
  if (schema.enum !== undefined && !schema.enum.includes(value as string))
    found.push(`${path}: ${JSON.stringify(value)} is none of ${schema.enum.join(', ')}`);
  if (schema.pattern !== undefined && !new RegExp(`^(?:${schema.pattern.replaceAll('(?^:', '(?:')})$`).test(String(value)))
    found.push(`${path}: ${JSON.stringify(value)} does not match ${schema.pattern}`);
  if (schema.minimum !== undefined && Number(value) < schema.minimum) found.push(`${path}: ${value} is below ${schema.minimum}`);
  if (schema.maximum !== undefined && Number(value) > schema.maximum) found.push(`${path}: ${value} is above ${schema.maximum}`);
  return found;
}

function itemMisfits(schema: ReturnSchema, value: unknown, path: string): string[] {
  const { items } = schema;
  if (!Array.isArray(value) || items === undefined) return [];
  return value.flatMap((item, index) => misfits(items, item, `${path}[${index}]`));
}

function propertyMisfits(schema: ReturnSchema, value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null || schema.properties === undefined) return [];
  const fields = value as Readonly<Record<string, unknown>>;
  return Object.entries(schema.properties).flatMap(([name, property]) => {
    const field = fields[name];
    // A recorded answer has `"clipboard":null`: declared as a string, optional, and there without a value.
    if (field === undefined || (field === null && property.optional === 1))
      return property.optional === 1 || name.endsWith('[n]') ? [] : [`${path}.${name}: missing`];
    return misfits(property, field, `${path}.${name}`);
  });
}
