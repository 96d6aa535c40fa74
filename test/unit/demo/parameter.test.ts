import { describe, expect, it } from 'vitest';
import { ApiError } from '#demo/pve/api-error';
import { normalizeParameters, type ParameterSpec, readParameters, verifyParameters } from '#demo/pve/parameter';

function reason(spec: ParameterSpec, value: unknown): string | undefined {
  try {
    verifyParameters({ p: spec }, { p: value });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    return thrown.errors?.['p'];
  }
}

const optional = { optional: true } as const;

describe('a value', () => {
  it.each<[ParameterSpec, unknown, string | undefined]>([
    [{ type: 'string' }, undefined, 'property is missing and it is not optional'],
    [{ type: 'string' }, null, 'property is missing and it is not optional'],
    [{ type: 'string', ...optional }, undefined, undefined],
    [{ type: 'integer' }, '+7', undefined],
    [{ type: 'integer' }, '7.0', "type check ('integer') failed - got '7.0'"],
    [{ type: 'integer' }, 7, undefined],
    [{ type: 'integer' }, true, "type check ('integer') failed - got JSON::PP::Boolean"],
    [{ type: 'string' }, ['a'], "type check ('string') failed - got ARRAY"],
    [{ type: 'string' }, { a: 1 }, "type check ('string') failed - got HASH"],
    [{ type: 'boolean' }, '1', undefined],
    [{ type: 'boolean' }, true, undefined],
    [{ type: 'boolean' }, 'yes', "type check ('boolean') failed - got 'yes'"],
    [{ type: 'number' }, '1e-3', undefined],
    [{ type: 'number' }, 'x', "type check ('number') failed - got 'x'"],
    [{ type: 'array' }, 'x', "type check ('array') failed"],
    [{ type: 'array' }, ['x'], undefined],
    [{ type: 'integer', minimum: 0 }, '-1', 'value must have a minimum value of 0'],
    [{ type: 'integer', maximum: 8 }, '9', 'value must have a maximum value of 8'],
    [{ type: 'string', maxLength: 2 }, 'abc', 'value may only be 2 characters long'],
    [{ type: 'string', pattern: '\\S+' }, 'a b', 'value does not match the regex pattern'],
    [{ type: 'string', enum: ['a', 'b'] }, 'c', "value 'c' does not have a value in the enumeration 'a, b'"],
    [{ type: 'string', format: 'pve-node' }, 'a_b', 'invalid format - value does not look like a valid node name\n'],
    [{ type: 'string', format: 'pve-node' }, 'a-b', undefined],
    [{ type: 'string', format: 'pve-storage-id' }, 'a', "invalid format - storage ID 'a' cannot be shorter than 2 characters\n"],
    [{ type: 'string', format: 'pve-storage-id' }, '1a', "invalid format - storage ID '1a' contains illegal characters\n"],
    [{ type: 'string', format: 'pve-configid' }, '1a', "invalid format - invalid configuration ID '1a'\n"],
    [{ type: 'string', format: 'pve-vmid-list' }, '100, 101;103', undefined],
    [{ type: 'string', format: 'pve-vmid-list' }, '100,99', 'invalid format - value does not look like a valid VM ID\n'],
    [{ type: 'string', format: 'pve-storage-content-list' }, 'iso,backups', "invalid format - invalid content type 'backups'\n"],
    [{ type: 'string', format: 'pve-task-status-type-list' }, 'OK,error', undefined],
  ])('%o of %o: %s', (spec, value, expected) => {
    expect(reason(spec, value)).toBe(expected);
  });
});

it('names each bad parameter, unknown ones and missing companions at once', () => {
  const specs = {
    storage: { type: 'string', ...optional },
    protected: { type: 'boolean', requires: 'storage', ...optional },
    n: { type: 'integer' },
  } as const;
  expect(() => verifyParameters(specs, { protected: '1', n: 'x', confirmed: '1' })).toThrow(
    expect.objectContaining({
      status: 400,
      message: 'Parameter verification failed.\n',
      errors: {
        storage: "missing property required by 'protected'",
        n: "type check ('integer') failed - got 'x'",
        confirmed: 'property is not defined in schema and the schema does not allow additional properties',
      },
    }),
  );
});

it('makes lists of single values and texts of lists, as forms need it', () => {
  const specs = { command: { type: 'array' }, vmid: { type: 'string', format: 'pve-vmid-list' }, other: { type: 'string' } } as const;
  expect(normalizeParameters(specs, { command: 'ls', vmid: ['100', '101'], other: ['a'], unknown: 1 })).toEqual({
    command: ['ls'],
    vmid: '100,101',
    other: ['a'],
    unknown: 1,
  });
  expect(normalizeParameters(specs, { command: '' })).toEqual({ command: '' });
});

it('reads in the type that is wanted', () => {
  const parameters = readParameters({ n: '7', m: 8, on: '1', yes: true, off: '0', text: 'a', list: ['x', 'y'], nothing: null });
  expect([parameters.integer('n'), parameters.integer('m'), parameters.integer('gone')]).toEqual([7, 8, undefined]);
  expect([parameters.flag('on'), parameters.flag('yes'), parameters.flag('off'), parameters.flag('gone')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([parameters.text('text'), parameters.text('m'), parameters.text('nothing')]).toEqual(['a', '8', undefined]);
  expect([parameters.list('list'), parameters.list('text'), parameters.list('gone')]).toEqual([['x', 'y'], ['a'], []]);
  expect([parameters.has('n'), parameters.has('nothing')]).toEqual([true, false]);
});
