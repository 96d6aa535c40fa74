import { describe, expect, it } from 'vitest';
import { callResult } from '#hosts/mcp/call-tool';
import { outcomeSchema } from '#hosts/mcp/mcp-server-factory';
import { describeTools } from '../../../../src/app/catalog.ts';
import { guideText, toolList } from '../../../../src/hosts/mcp/mcp-server-factory.ts';
import type { OutcomeStatus } from '../../../../src/kernel/outcome.ts';

const statuses: readonly OutcomeStatus[] = ['ok', 'denied', 'pending', 'error'];

describe('call result', () => {
  it.each(statuses)('%s is an error to the client unless it is ok', (status) => {
    const result = callResult({ status, code: 'x', message: 'm', request_id: 'req-00000000', result: { a: [1] } });
    expect(result.isError === true).toBe(status !== 'ok');
    expect(JSON.parse((result.content[0] as { text: string }).text)).toEqual(result.structuredContent);
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

describe('the output schema of all tools', () => {
  it('holds the output schema once, which the list does not repeat for each tool', () => {
    expect(guideText(describeTools())).toContain(JSON.stringify(outcomeSchema));
    expect(JSON.stringify(toolList(describeTools()))).not.toContain('What the tool returned.');
  });
});

describe('the tool list', () => {
  it('is the catalog, in its order, each with a strict object as input', () => {
    const tools = describeTools();
    const listed = toolList(tools);
    expect(listed.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    for (const { inputSchema } of listed) expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
  });

  it('hints say no more than the tier and the impact do', () => {
    for (const [index, { annotations, name }] of toolList(describeTools()).entries()) {
      const { tier, impact } = describeTools()[index]!;
      expect(annotations?.readOnlyHint, name).toBe(tier === 'green');
      expect(annotations?.readOnlyHint === true && annotations.destructiveHint === true, name).toBe(false);
      expect(annotations?.destructiveHint, name).toBe(impact === 'irreversible' || impact === 'disruptive');
    }
  });
});

describe('the guide', () => {
  it('has a row for every tool', () => {
    const text = guideText(describeTools());
    for (const { name, tier } of describeTools()) expect(text).toContain(`| ${name} | ${tier} |`);
  });
});
