/** The part of markdown-it that the site uses; the package brings no types. */
declare module 'markdown-it' {
  export interface Token {
    readonly type: string;
    tag: string;
    readonly content: string;
    /** Of a fence: what stands behind its marks. */
    readonly info: string;
    readonly children: readonly Token[] | null;
    attrGet(name: string): string | null;
    attrSet(name: string, value: string): void;
  }

  interface Renderer {
    render(tokens: readonly Token[], options: unknown, env: object): string;
    readonly rules: Record<string, ((tokens: readonly Token[], at: number) => string) | undefined>;
  }

  // biome-ignore lint/style/noDefaultExport: the package exports it so.
  export default class MarkdownIt {
    constructor(options: { readonly html: boolean; readonly linkify: boolean });
    readonly renderer: Renderer;
    readonly options: unknown;
    parse(text: string, env: object): readonly Token[];
  }
}
