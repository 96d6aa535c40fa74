import type { ModelAnswer, ModelTurn, OfferedTool } from './scripted-agent.ts';

/** A wire format between an agent and its model, as data that the scripted model's server speaks. */
export interface ModelDialect {
  /** Of the requests for an answer, which are `POST`. */
  readonly path: RegExp;
  /** What `GET /v1/models` answers, where the format has that. */
  readonly models?: Fields;
  /** What the agent asks; a text: why it cannot be understood. */
  turn(body: Fields): ModelTurn | string;
  /** Whether the agent wants the answer in pieces. */
  streams(body: Fields, pathname: string): boolean;
  whole(answer: ModelAnswer, body: Fields): Fields;
  /** The same in pieces. A text is sent as it is. */
  events(answer: ModelAnswer, body: Fields): readonly (Fields | string)[];
}

/** An object of a request or answer, whose values have yet to be looked at. */
export type Fields = Readonly<Record<string, unknown>>;

export function offeredTool(name: unknown, schema: unknown): OfferedTool {
  const { properties, required } = fieldsOf(schema);
  return { name: textOf(name), parameters: Object.keys(fieldsOf(properties)), required: listOf(required).map(textOf) };
}

/** Content is a string, or a list of parts of which only the text ones count. */
export function contentOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return listOf(value)
    .map((part) => textOf(fieldsOf(part).text))
    .join('\n');
}

export function randomHex(): string {
  return globalThis.crypto.randomUUID().replaceAll('-', '').slice(0, 12);
}

/** Seconds, as the formats want. */
export function now(): number {
  return Math.floor(Date.now() / 1000);
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
