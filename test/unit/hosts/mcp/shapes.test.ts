import { describe, expect, it } from 'vitest';
import { briefly } from '#app/short-list';
import { callResult } from '#hosts/mcp/call-tool';
import { outcomeSchema } from '#hosts/mcp/mcp-server-factory';
import { describeTools } from '../../../../src/app/catalog.ts';
import { guideText, toolList } from '../../../../src/hosts/mcp/mcp-server-factory.ts';
import type { Outcome, OutcomeStatus } from '../../../../src/kernel/outcome.ts';

const statuses: readonly OutcomeStatus[] = ['ok', 'denied', 'pending', 'error'];

describe('call result', () => {
  it.each(statuses)('%s is an error to the client unless it is done or asks a person; an error comes once, as text', (status) => {
    const outcome: Outcome = { status, code: 'x', message: 'm', next: 'n', request_id: 'req-00000000', result: { a: [1] } };
    const { content, structuredContent, isError } = callResult(outcome);
    const fails = status === 'denied' || status === 'error';
    expect(isError === true).toBe(fails);
    expect(content).toEqual([{ type: 'text', text: JSON.stringify(outcome) }]);
    expect(structuredContent).toEqual(fails ? undefined : outcome);
  });
});

describe('the output schema', () => {
  it('knows every field that an outcome has, and nothing else', () => {
    const every = {
      status: 'ok',
      code: 'ok',
      message: '',
      request_id: 'req-00000000',
      next: '',
      tier: 'red',
      effect: {},
      result: null,
    } as const;
    expect(Object.keys(outcomeSchema.properties)).toEqual(Object.keys(every));
    expect(outcomeSchema.properties.status.enum).toEqual(statuses);
    expect(outcomeSchema.additionalProperties).toBe(false);
  });
});

const tools = describeTools();
const whole = toolList(tools, { all: true, clusters: 1 });
const short = toolList(tools, { all: false, clusters: 1 });

it('the output schema stands once, in the guide', () => {
  expect(guideText(tools)).toContain(JSON.stringify(outcomeSchema));
  for (const tool of [...whole, ...short]) expect(tool).not.toHaveProperty('outputSchema');
});

describe('the whole list', () => {
  it('is the catalog, in its order, each with a strict object as input', () => {
    expect(whole.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    for (const { inputSchema } of whole) expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
  });

  it('hints say no more than the tier and the impact do', () => {
    for (const [index, { annotations, name }] of whole.entries()) {
      const { tier, impact } = tools[index]!;
      expect(annotations?.readOnlyHint, name).toBe(tier === 'green');
      expect(annotations?.readOnlyHint === true && annotations.destructiveHint === true, name).toBe(false);
      expect(annotations?.destructiveHint, name).toBe(impact === 'irreversible' || impact === 'disruptive');
    }
  });
});

describe('the short list', () => {
  it('is at most 20,000 bytes, and leads to every tool of the catalog', () => {
    expect(Buffer.byteLength(JSON.stringify(short))).toBeLessThanOrEqual(20_000);
    const drawer = short.at(-1);
    expect(drawer?.name).toBe('more_tools');
    const listed = new Set(short.map(({ name }) => name));
    for (const { name } of tools) expect(listed.has(name) || drawer?.description?.includes(name), name).toBe(true);
  });

  it.each(short.slice(0, -1))('$name has every argument that a call must have, with its type', ({ name, inputSchema: listed }) => {
    const { inputSchema } = tools.find((tool) => tool.name === name)!;
    const properties = inputSchema['properties'] as Record<string, { type?: string }>;
    const needed = (inputSchema['required'] ?? []) as string[];
    expect(listed.required ?? []).toEqual(needed);
    expect(Object.keys(listed.properties ?? {})).toEqual(expect.arrayContaining(needed));
    for (const [argument, schema] of Object.entries(listed.properties ?? {}))
      expect(schema, argument).toMatchObject({ type: properties[argument]?.type });
  });

  it('has hints that hold, with what the protocol takes for granted: not read-only, and destructive unless it is', () => {
    for (const { name, annotations } of short.slice(0, -1)) {
      const { tier, impact } = tools.find((tool) => tool.name === name)!;
      const destroys = annotations?.destructiveHint ?? true;
      expect(annotations?.readOnlyHint ?? false, name).toBe(tier === 'green');
      expect(tier === 'green' || destroys === (impact === 'disruptive' || impact === 'irreversible'), name).toBe(true);
    }
  });

  it('says which tool is meant instead or comes next, and who is asked', () => {
    const names = tools.map(({ name }) => name);
    const stop = tools.find(({ name }) => name === 'stop_vm')!;
    const brief = briefly(stop, names);
    expect(brief).toContain('shutdown_vm');
    expect(brief).toContain('Asks a person.');
    for (const tool of tools) {
      const others = names.filter((name) => name !== tool.name && new RegExp(`\\b${name}\\b`).test(tool.description));
      for (const other of others) expect(briefly(tool, names), tool.name).toContain(other);
    }
  });

  it('names the cluster where there are several', () => {
    const argumentsOf = (clusters: number) =>
      toolList(tools, { all: false, clusters }).find(({ name }) => name === 'stop_vm')?.inputSchema.properties;
    expect(argumentsOf(1)).not.toHaveProperty('cluster');
    expect(argumentsOf(2)).toHaveProperty('cluster');
  });
});

describe('the guide', () => {
  it('has a row for every tool', () => {
    const text = guideText(describeTools());
    for (const { name, tier } of describeTools()) expect(text).toContain(`| ${name} | ${tier} |`);
  });
});
