import {
  contentOf,
  type Fields,
  fieldsOf,
  listOf,
  type ModelDialect,
  offeredTool,
  randomHex,
  textOf,
} from '../../../scripts/bench/model-dialect.ts';
import type { ModelAnswer, ModelMessage } from '../../../scripts/bench/scripted-agent.ts';

const usage = { input_tokens: 1, output_tokens: 1 };

/** Anthropic's messages: https://platform.claude.com/docs/en/api/messages (and streaming). */
export const anthropicMessages: ModelDialect = {
  path: /\/messages$/,
  turn: ({ messages, tools }) => ({
    tools: listOf(tools).map((tool) => offeredTool(fieldsOf(tool).name, fieldsOf(tool).input_schema)),
    messages: listOf(messages).flatMap(toMessages),
  }),
  streams: ({ stream }) => stream === true,
  whole: (answer, { model }) => ({ ...message(model), content: [block(answer)], stop_reason: stopReason(answer) }),
  events(answer, { model }) {
    const start = 'text' in answer ? { ...block(answer), text: '' } : { ...block(answer), input: {} };
    const delta =
      'text' in answer
        ? { type: 'text_delta', text: answer.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(answer.args) };
    return [
      { type: 'message_start', message: { ...message(model), content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: start },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: stopReason(answer), stop_sequence: null }, usage },
      { type: 'message_stop' },
    ];
  },
};

/** Results of tools stand in what the user says. */
function toMessages(value: unknown): readonly ModelMessage[] {
  const { role, content } = fieldsOf(value);
  if (typeof content === 'string') return [{ role: textOf(role), content, calls: [] }];
  const blocks = listOf(content).map(fieldsOf);
  const results = blocks.filter(({ type }) => type === 'tool_result');
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ name }) => textOf(name));
  const text = contentOf(blocks);
  return [
    ...results.map((result) => ({ role: 'tool', content: contentOf(result.content), calls: [] })),
    ...(text === '' && calls.length === 0 ? [] : [{ role: textOf(role), content: text, calls }]),
  ];
}

function message(model: unknown): Fields {
  return { id: `msg_${randomHex()}`, type: 'message', role: 'assistant', model: textOf(model), stop_sequence: null, usage };
}

function block(answer: ModelAnswer): Fields {
  if ('text' in answer) return { type: 'text', text: answer.text };
  return { type: 'tool_use', id: `toolu_${randomHex()}`, name: answer.tool, input: answer.args };
}

function stopReason(answer: ModelAnswer): string {
  return 'text' in answer ? 'end_turn' : 'tool_use';
}
