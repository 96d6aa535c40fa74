/** A tool in Ollama's function-calling format (`tools` of `POST /api/chat`, https://docs.ollama.com/api/chat). */
import type { ToolDescription } from '#kernel/tool';

/** The part of JSON Schema that Ollama's clients type. */
export interface OllamaParameters {
  readonly type: 'object';
  required?: string[];
  properties: Record<string, { type: string; description: string; items?: object; enum?: unknown[]; default?: unknown }>;
  readonly additionalProperties: false;
}

export interface OllamaTool {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: OllamaParameters };
}

export function ollamaTool({ name, description, inputSchema }: ToolDescription): OllamaTool {
  // Sound: the catalog's test holds every input to a strict object whose properties have one type and a description each.
  return { type: 'function', function: { name, description, parameters: inputSchema as unknown as OllamaParameters } };
}
