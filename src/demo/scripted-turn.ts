/** What a scripted model is asked and what it may answer, apart from the wire format. */

/** A tool that the caller offers with its request. */
export interface OfferedTool {
  readonly name: string;
  /** Names of the tool's arguments, and which of them it insists on; both empty when it declares no schema. */
  readonly parameters: readonly string[];
  readonly required: readonly string[];
}

/** One message of the conversation, its content flattened to text. */
export interface ModelMessage {
  readonly role: string;
  readonly content: string;
  /** Names of the tools that an assistant's message calls; [] for any other message. */
  readonly calls: readonly string[];
}

export interface ModelTurn {
  readonly tools: readonly OfferedTool[];
  readonly messages: readonly ModelMessage[];
}

export type ModelAnswer = { readonly text: string } | { readonly tool: string; readonly args: Readonly<Record<string, unknown>> };

/** What the model says to a turn. Requests without tools are the editor's own (titles, progress messages). */
export type ModelScript = (turn: ModelTurn) => ModelAnswer;
