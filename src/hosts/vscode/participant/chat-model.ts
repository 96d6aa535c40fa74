/** The model that a person picked, of whatever provider, as the loop knows models. */
import {
  CancellationTokenSource,
  type LanguageModelChat,
  LanguageModelChatMessage,
  type LanguageModelChatTool,
  LanguageModelTextPart,
  LanguageModelToolCallPart,
  LanguageModelToolResultPart,
} from 'vscode';
import type { ShortTool } from '#app/short-list';
import { isJsonObject } from '#kernel/json';
import type { Model, ModelPart } from './agent-loop.ts';
import type { Message } from './conversation.ts';

export function chatModel(model: LanguageModelChat, justification: string): Model {
  return {
    // Providers that do not know say 0.
    room: model.maxInputTokens > 0 ? model.maxInputTokens : unknownRoom,
    async *send(messages, tools, signal) {
      const source = new CancellationTokenSource();
      const cancel = () => source.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      try {
        const options = { justification, ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }) };
        const { stream } = await model.sendRequest(messages.map(messageOf), options, source.token);
        for await (const part of stream) {
          const understood = partOf(part);
          if (understood !== undefined) yield understood;
        }
      } finally {
        signal.removeEventListener('abort', cancel);
        source.cancel();
        source.dispose();
      }
    },
  };
}

const unknownRoom = 8_000;

/**
 * Whether its provider says that it cannot call tools. The typings leave it out, VS Code 1.139 gives it to every extension; where it is not there, nobody
 * knows.
 */
export function cannotCallTools(model: LanguageModelChat): boolean {
  const capabilities: unknown = Reflect.get(model, 'capabilities');
  return isJsonObject(capabilities) && capabilities['supportsToolCalling'] === false;
}

function toolOf({ name, description, inputSchema }: ShortTool): LanguageModelChatTool {
  return { name, description, inputSchema };
}

function messageOf(message: Message): LanguageModelChatMessage {
  if (message.from === 'person') return LanguageModelChatMessage.User(message.text);
  if (message.from === 'tools')
    return LanguageModelChatMessage.User(
      message.answers.map(({ id, text }) => new LanguageModelToolResultPart(id, [new LanguageModelTextPart(text)])),
    );
  const said = message.text === '' ? [] : [new LanguageModelTextPart(message.text)];
  const calls = message.calls.map(({ id, name, input }) => new LanguageModelToolCallPart(id, name, isJsonObject(input) ? input : {}));
  return LanguageModelChatMessage.Assistant([...said, ...calls]);
}

/** Thoughts, pictures and whatever else comes are no part of an answer. */
function partOf(part: unknown): ModelPart | undefined {
  if (part instanceof LanguageModelTextPart) return { text: part.value };
  if (part instanceof LanguageModelToolCallPart) return { call: { id: part.callId, name: part.name, input: part.input } };
  return undefined;
}
