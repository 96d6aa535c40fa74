/**
 * Whose tool a name means in this window. A name alone proves nothing: any extension calls its tools as it likes, and the editor runs the first that
 * claimed a name.
 */
import { isJsonObject, type JsonObject, textOf } from '#kernel/json';

/** As the editor's `Extension`. */
interface Contributor {
  readonly id: string;
  readonly packageJSON: unknown;
}

interface Window {
  /** This extension. */
  readonly own: Contributor;
  readonly extensions: readonly Contributor[];
  /** What the editor offers models: one tool a name, whoever contributed it. */
  readonly offered: readonly { readonly name: string; readonly description: string }[];
}

/**
 * SECURITY: ours is what our manifest contributes, no other extension does, and the editor offers with our description: one of another extension host,
 * whose manifest is not seen here, has not that as well unless it copies both. Whatever is not proved ours is judged like any other tool.
 */
export function toolOwner(tool: string, { own, extensions, offered }: Window): 'own' | 'foreign' | undefined {
  const name = tool.toLowerCase();
  const others = extensions.filter(({ id }) => id.toLowerCase() !== own.id.toLowerCase());
  // Agents' own tools are listed without regard to case.
  if (others.some((other) => toolsOf(other).some((its) => textOf(its['name'])?.toLowerCase() === name))) return 'foreign';
  const ours = toolsOf(own).find((its) => its['name'] === tool);
  if (ours === undefined) return undefined;
  const shown = offered.filter((one) => one.name === tool);
  return shown.length === 1 && shown[0]?.description === ours['modelDescription'] ? 'own' : undefined;
}

function toolsOf({ packageJSON }: Contributor): readonly JsonObject[] {
  const contributes = isJsonObject(packageJSON) ? packageJSON['contributes'] : undefined;
  const tools = isJsonObject(contributes) ? contributes['languageModelTools'] : undefined;
  return Array.isArray(tools) ? tools.filter(isJsonObject) : [];
}
