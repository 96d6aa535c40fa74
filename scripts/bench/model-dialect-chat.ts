import { contentOf, type Fields, fieldsOf, listOf, type ModelDialect, now, offeredTool, randomHex, textOf } from './model-dialect.ts';
import type { ModelAnswer, ModelMessage } from './scripted-agent.ts';

const MODEL_ID = 'scripted-demo';
/** Nothing is counted: no client of the demo pays by the token. */
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

/** OpenAI's chat completions: https://platform.openai.com/docs/api-reference/chat (completions, streaming and models). */
export const chatCompletions: ModelDialect = {
  path: /\/chat\/completions$/,
  models: { object: 'list', data: [{ id: MODEL_ID, object: 'model', created: 0, owned_by: 'banksman-demo' }] },
  turn({ messages, tools, model }) {
    if (!Array.isArray(messages)) return '`messages` must be a list';
    const offered = listOf(tools).map((tool) => fieldsOf(fieldsOf(tool).function));
    return {
      ...(typeof model === 'string' ? { model } : {}),
      tools: offered.map(({ name, parameters }) => offeredTool(name, parameters)).filter(({ name }) => name !== ''),
      messages: messages.map(toMessage),
    };
  },
  streams: ({ stream }) => stream === true,
  whole(answer) {
    const message =
      'text' in answer ? { role: 'assistant', content: answer.text } : { role: 'assistant', content: null, tool_calls: [toolCall(answer)] };
    const choice = { index: 0, message, finish_reason: finishReason(answer) };
    return { id: completionId(), object: 'chat.completion', created: now(), model: MODEL_ID, choices: [choice], usage: USAGE };
  },
  events(answer) {
    const common = { id: completionId(), object: 'chat.completion.chunk', created: now(), model: MODEL_ID };
    const delta = (content: Fields, reason: string | null = null) => ({
      ...common,
      choices: [{ index: 0, delta: content, finish_reason: reason }],
    });
    return [
      delta({ role: 'assistant', content: '' }),
      delta('text' in answer ? { content: answer.text } : { tool_calls: [{ index: 0, ...toolCall(answer) }] }),
      delta({}, finishReason(answer)),
      { ...common, choices: [], usage: USAGE },
      '[DONE]',
    ];
  },
};

function toMessage(value: unknown): ModelMessage {
  const fields = fieldsOf(value);
  const calls = listOf(fields.tool_calls).map((call) => textOf(fieldsOf(fieldsOf(call).function).name));
  return { role: textOf(fields.role), content: contentOf(fields.content), calls };
}

function toolCall(answer: { tool: string; args: Fields }): Fields {
  return { id: `call_${randomHex()}`, type: 'function', function: { name: answer.tool, arguments: JSON.stringify(answer.args) } };
}

function finishReason(answer: ModelAnswer): string {
  return 'text' in answer ? 'stop' : 'tool_calls';
}

function completionId(): string {
  return `chatcmpl-${randomHex()}`;
}
