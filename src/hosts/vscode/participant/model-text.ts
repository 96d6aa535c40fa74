/**
 * A model's words on their way to the chat. SECURITY: they are anybody's, since a model repeats what it read. The editor runs no command links of a text that is
 * not trusted, and loads no pictures from elsewhere in the chat; a picture's address can carry what the model knows, so none is left to be loaded.
 */
export interface ModelText {
  /** What can be shown of it now. */
  take(chunk: string): string;
  /** What was held back for the character behind it. */
  rest(): string;
}

export function createModelText(): ModelText {
  let held = '';
  return {
    take(chunk) {
      const text = held + chunk;
      held = text.endsWith('!') ? '!' : '';
      return text.slice(0, text.length - held.length).replaceAll('![', '! [');
    },
    rest() {
      const last = held;
      held = '';
      return last;
    },
  };
}
