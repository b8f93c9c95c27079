import { compactNames } from '../core/tool-names.ts'

const canonicalNames = new Map(Object.entries(compactNames).map(([canonical, compact]) => [compact, canonical]))

/** True if both names mean one tool, whichever toolset each is from. */
export function isSameTool(one: string, other: string): boolean {
  return one === other || canonicalName(one) === canonicalName(other)
}

/** The name under which a request offers a tool; the name as it is if nothing offered fits. */
export function offeredName(name: string, offered: readonly string[]): string {
  if (offered.includes(name)) return name
  return offered.find((candidate) => isSameTool(candidate, name)) ?? name
}

function canonicalName(name: string): string {
  return canonicalNames.get(name) ?? name
}
