import { isNear } from './near.ts'

/**
 * How a key counts. `restricting` keys take something from the agent: a file in which one of them is unclear is refused.
 * `prose` keys hold text for people and models: if their YAML is broken, the raw text is what the author meant.
 */
export type KeyKind = 'restricting' | 'prose' | 'plain'

const restricting: Record<string, readonly string[]> = {
  tools: [],
  allowedTools: [],
  disallowedTools: ['deniedTools', 'denyTools', 'blockedTools', 'excludedTools'],
  permission: ['permissions'],
  permissionMode: [],
  mode: [],
  disableModelInvocation: [],
  spawns: ['agents', 'subagents'],
  denyAtDepth: [],
  isolation: [],
  limits: [],
  maxTurns: ['steps', 'maxSteps'],
  maxTokens: [],
  timeoutMs: [],
  maxChildren: [],
  maxChildrenTotal: [],
  stallMs: [],
  maxDepth: [],
  hooks: [],
  disable: ['disabled'],
}

const prose = ['description', 'whenToUse', 'argumentHint', 'examples', 'title', 'summary']

const plain =
  `name model toolset think options restart temperature topP hidden userInvocable mcpServers color memory skills
  license version metadata author tags category background effort compatibility context agent shell paths initialPrompt
  homepage repository code node prompt`.split(/\s+/)

/** Keys that decide what an agent may do; one of them anywhere but at its place makes a file unclear. */
const access = new Set([
  'tools',
  'allowedTools',
  'disallowedTools',
  'permission',
  'permissionMode',
  'disableModelInvocation',
])

const canonical = new Map<string, { key: string; kind: KeyKind }>()
for (const [key, aliases] of Object.entries(restricting)) {
  for (const name of [key, ...aliases]) canonical.set(foldKey(name), { key, kind: 'restricting' })
}
for (const key of prose) canonical.set(foldKey(key), { key, kind: 'prose' })
for (const key of plain) canonical.set(foldKey(key), { key, kind: 'plain' })

/** The key as this program names it: `allowed-tools`, `allowed_tools` and `AllowedTools` are `allowedTools`. */
export function findKey(written: string): { key: string; kind: KeyKind } | undefined {
  return canonical.get(foldKey(written))
}

/** Whether a key decides what an agent may do, in any spelling. */
export function isAccessKey(written: string): boolean {
  return access.has(findKey(written)?.key ?? '')
}

/** The restricting key that an unknown one was probably meant to be. */
export function findMeantKey(written: string): string | undefined {
  const folded = foldKey(written)
  if (canonical.has(folded)) return undefined
  for (const [name, { key, kind }] of canonical) {
    if (kind === 'restricting' && isNear(folded, name, name.length <= 5 ? 1 : 2)) return key
  }
  return undefined
}

function foldKey(written: string): string {
  return written.toLowerCase().replace(/[-_\s]/g, '')
}
