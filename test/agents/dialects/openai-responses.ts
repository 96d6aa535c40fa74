import {
  contentOf,
  type Fields,
  fieldsOf,
  listOf,
  type ModelDialect,
  now,
  offeredTool,
  randomHex,
  textOf,
} from '../../../scripts/bench/model-dialect.ts';
import type { ModelAnswer, ModelMessage } from '../../../scripts/bench/scripted-agent.ts';

/** OpenAI's responses: https://platform.openai.com/docs/api-reference/responses (and streaming). */
export const openaiResponses: ModelDialect = {
  path: /\/responses$/,
  turn: ({ input, tools }) => ({
    tools: [...declared(tools), ...found(input)].map(({ name, tool }) => offeredTool(name, tool.parameters)),
    messages: listOf(input).map(toMessage),
  }),
  streams: ({ stream }) => stream === true,
  whole: (answer, body) => ({ ...response('completed'), output: [item(answer, body)] }),
  events(answer, body) {
    const done = item(answer, body);
    const text = 'text' in answer ? [{ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: answer.text }] : [];
    return [
      { type: 'response.created', response: response('in_progress') },
      { type: 'response.output_item.added', output_index: 0, item: { ...done, status: 'in_progress' } },
      ...text,
      { type: 'response.output_item.done', output_index: 0, item: done },
      { type: 'response.completed', response: { ...response('completed'), output: [done] } },
    ];
  },
};

interface Declared {
  /** `NAMESPACE__NAME`, where it has a namespace. */
  readonly name: string;
  readonly namespace?: string;
  readonly tool: Fields;
}

/** Tools stand alone or in a namespace, as one list. */
function declared(tools: unknown): readonly Declared[] {
  return listOf(tools)
    .map(fieldsOf)
    .flatMap((tool): readonly Declared[] => {
      if (tool.type !== 'namespace') return [{ name: textOf(tool.name) || textOf(tool.type), tool }];
      const namespace = textOf(tool.name);
      return listOf(tool.tools).map((inner) => ({
        name: `${namespace}__${textOf(fieldsOf(inner).name)}`,
        namespace,
        tool: fieldsOf(inner),
      }));
    });
}

/** Tools that searches of the conversation brought. */
function found(input: unknown): readonly Declared[] {
  return listOf(input)
    .map(fieldsOf)
    .filter(({ type }) => type === 'tool_search_output')
    .flatMap(({ tools }) => declared(tools));
}

function toMessage(value: unknown): ModelMessage {
  const { type, role, name, content, output } = fieldsOf(value);
  if (textOf(type).endsWith('_call')) return { role: 'assistant', content: '', calls: [textOf(name)] };
  if (textOf(type).endsWith('_output')) return { role: 'tool', content: contentOf(output), calls: [] };
  return { role: textOf(role), content: contentOf(content), calls: [] };
}

function item(answer: ModelAnswer, { tools, input }: Fields): Fields {
  if ('text' in answer) {
    const content = [{ type: 'output_text', text: answer.text, annotations: [] }];
    return { type: 'message', id: `msg_${randomHex()}`, status: 'completed', role: 'assistant', content };
  }
  const { namespace, tool } = [...declared(tools), ...found(input)].find(({ name }) => name === answer.tool) ?? {};
  const ids = { id: `fc_${randomHex()}`, call_id: `call_${randomHex()}`, status: 'completed' };
  const named = { name: namespace === undefined ? answer.tool : answer.tool.slice(namespace.length + 2), ...(namespace && { namespace }) };
  if (tool?.type === 'tool_search') return { type: 'tool_search_call', ...ids, execution: 'client', arguments: answer.args };
  if (tool?.type === 'custom') return { type: 'custom_tool_call', ...ids, ...named, input: textOf(answer.args['input']) };
  return { type: 'function_call', ...ids, ...named, arguments: JSON.stringify(answer.args) };
}

function response(status: string): Fields {
  const usage = {
    ...{ input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    ...{ input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  };
  return { id: `resp_${randomHex()}`, object: 'response', created_at: now(), status, model: 'scripted', output: [], usage };
}
