import { contentOf, type Fields, fieldsOf, listOf, type ModelDialect, offeredTool, textOf } from '../../../scripts/bench/model-dialect.ts';
import type { ModelAnswer, ModelMessage } from '../../../scripts/bench/scripted-agent.ts';

/** Gemini's generateContent: https://ai.google.dev/api/generate-content (and streamGenerateContent). */
export const geminiContent: ModelDialect = {
  path: /:(?:stream)?generateContent$/i,
  turn: ({ contents, tools }) => ({
    tools: listOf(tools)
      .flatMap((tool) => listOf(fieldsOf(tool).functionDeclarations))
      .map(fieldsOf)
      .map(({ name, parameters, parametersJsonSchema }) => offeredTool(name, parametersJsonSchema ?? parameters)),
    messages: listOf(contents).flatMap(toMessages),
  }),
  streams: (_body, pathname) => pathname.endsWith(':streamGenerateContent'),
  whole: answered,
  events: (answer) => [answered(answer)],
};

/** Results of tools stand in what the user says. */
function toMessages(value: unknown): readonly ModelMessage[] {
  const { role, parts } = fieldsOf(value);
  const all = listOf(parts).map(fieldsOf);
  const results = all.filter((part) => part.functionResponse !== undefined).map((part) => fieldsOf(part.functionResponse).response);
  const calls = all.filter((part) => part.functionCall !== undefined).map((part) => textOf(fieldsOf(part.functionCall).name));
  const text = contentOf(all);
  return [
    ...results.map((result) => ({ role: 'tool', content: resultText(result), calls: [] })),
    ...(text === '' && calls.length === 0 ? [] : [{ role: role === 'model' ? 'assistant' : textOf(role), content: text, calls }]),
  ];
}

function resultText(result: unknown): string {
  const { output, error } = fieldsOf(result);
  return textOf(output) || textOf(error) || JSON.stringify(result);
}

function answered(answer: ModelAnswer): Fields {
  const part = 'text' in answer ? { text: answer.text } : { functionCall: { name: answer.tool, args: answer.args } };
  return {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: 'scripted',
  };
}
