import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import type { AgentDefinition } from '../core/agent.ts'
import { DefinitionError } from './definition-error.ts'
import { type ParsedAgent, parseAgent } from './parse-agent.ts'
import { canonicalTools } from './tool-names.ts'
import { wildcardCovers } from './wildcard.ts'

const reading = ['read', 'glob', 'grep']
const family = ['task', 'task_send', 'task_wait', 'task_cancel', 'read_sub_agent']

/** `tools`: exactly these are on. `off`: these are, and all others on. `rules`: what `KEY COMMAND` comes to by the last rule. */
type Expected = {
  name?: string
  description?: string
  prompt?: string
  mode?: string
  model?: string | null
  tools?: string[]
  off?: string[]
  rules?: Record<string, string | undefined>
  warning?: RegExp
  refused?: RegExp
  line?: number
}

const cases: Record<string, Expected> = {
  'd01-colon-in-description': { description: 'Use when: x', tools: ['read'], prompt: 'You read.' },
  'd02-dialogue-in-one-line': {
    name: 'helper',
    description: 'Helps. Examples: <example>user: "hi"\\nassistant: "yo"</example>',
    tools: ['read', 'grep'],
  },
  'd03-dialogue-over-lines': {
    description: 'Helps with: things\n<example>\nuser: "a"\nuser: "b"\n</example>',
    tools: ['read'],
  },
  'd04-no-space-after-colon': { refused: /blank is missing after "disable-model-invocation:"/, line: 4 },
  'd04-with-space': { mode: 'primary' },
  'd05-star-alias': { refused: /YAML/, line: 4 },
  'd05-star-quoted': { off: [] },
  'd06-empty-tools-after-broken-description': { description: 'Use when: asked', tools: [], warning: /no tools/ },
  'd07-at-sign': { description: '@State patterns', tools: ['read'] },
  'd08-byte-order-mark': { name: 'h', description: 'd', tools: ['read'], prompt: 'Body' },
  'd08-comment-before-fence': { name: 'h', description: 'd', tools: ['read'], prompt: 'Body' },
  'd08-blank-lines-before-fence': { name: 'h', description: 'd', tools: ['read'], prompt: 'Body' },
  'd09-no-fence': {
    name: 'd09-no-fence',
    description: 'You plan the work of others.',
    tools: reading,
    warning: /No frontmatter: the agent may only read/,
  },
  'd10-two-blocks': { name: 'first', tools: ['read'], prompt: 'Body', warning: /first one counts/ },
  'd10-restriction-in-second-block': { name: 'first', tools: ['read'], warning: /first one counts/ },
  'd11-name-is-list': { name: 'x', tools: ['read'] },
  'd11-name-is-null': { name: 'd11-name-is-null', tools: ['read'] },
  'd11-name-is-number': { name: '3000', tools: ['read'] },
  'd12-permissions-plural': { off: ['bash'], rules: { 'bash ls': 'deny' } },
  'd12-allowed-tools-camel': { tools: ['read'] },
  'd12-allowed-tools-kebab': { tools: ['read'] },
  'd12-disallowed-tools': { off: ['bash'] },
  'd12-permission-mode-plan': { rules: { 'edit a.ts': 'deny', 'bash ls': 'ask', 'read a.ts': undefined } },
  'd13-command-for-tool': { refused: /permission: \{ bash: \{ "rm -rf \*": deny \} \}/, line: 3 },
  'd14-blanks-between-tools': {
    tools: ['read', 'edit', 'bash'],
    rules: { 'bash git log': 'allow', 'bash git': 'allow', 'bash gitk': 'deny', 'bash rm -rf /': 'deny' },
  },
  'd14-commands-in-parentheses': {
    tools: ['read', 'bash'],
    rules: { 'bash a x': 'allow', 'bash b x': 'allow', 'bash c x': 'deny' },
  },
  'd15-unknown-allowed': { tools: ['read'], warning: /"NoSuchTool" is no tool and was left out/ },
  'd15-unknown-denied': { refused: /"NoSuchTool" is no tool, so it can't be taken away/, line: 3 },
  'd15-unknown-denied-in-map': { refused: /"nosuchtool" is no tool/, line: 3 },
  'd15-unknown-permission-key': { refused: /"bsh" is no key/, line: 3 },
  'd15-unknown-permission-value': { refused: /"bash" must be allow, ask or deny/, line: 3 },
  'd16-only-true': { off: [], warning: /only switches tools on.*tools: \[read, grep\]/ },
  'd17-model-sonnet': { model: null, warning: /"sonnet" is not known here/ },
  'd17-model-inherit': { model: null },
  'd17-model-default': { model: null },
  'd17-model-of-copilot': { model: null, warning: /GPT-4.1/ },
  'd17-model-of-ollama': { model: 'ollama/qwen3:8b' },
  'd18-hook-that-judges': { refused: /hook that judges calls/, line: 3 },
  'd18-hook-afterwards': { off: [], warning: /Hooks do not run here/ },
  'd19-name-with-spaces': { name: 'Prüfer der Zeilen', tools: ['read'] },
  'd20-tools-and-permission': { tools: ['read'], rules: { 'bash ls': 'deny' } },
  'd20-commands-and-permission': {
    tools: ['read', 'bash'],
    rules: { 'bash git log': 'allow', 'bash git push -f': 'deny', 'bash ls': 'deny' },
  },
  'c48-colon-in-description': {
    description: 'Reviews code. Use for: pull requests',
    tools: ['read', 'grep'],
    rules: { 'edit a': 'deny', 'bash ls': 'ask' },
  },
  'c49-crlf': { name: 'h', description: 'd', prompt: 'Body', tools: ['read'] },
  'c49-spaces-after-fences': { name: 'h', description: 'd', prompt: 'Body', tools: ['read'] },
  'c50-string': { tools: ['read', 'grep', 'bash'] },
  'c50-list': { tools: ['read', 'bash'] },
  'c50-block-list': { tools: ['read', 'bash'] },
  'c50-map': { off: ['bash'] },
  'c50-empty-text': { tools: [] },
  'c50-empty-list': { tools: [] },
  'c50-trailing-commas': { tools: ['read'] },
  'c50-number': { refused: /"tools" must be a list of tool names/, line: 3 },
  'c50-only-unknown': { tools: [], warning: /"NoSuchTool"/ },
  'c51-bad-indentation': { refused: /begin with a key in the first column/, line: 2 },
  'c51-wrong-type': { refused: /"temperature" is wrong: .*; it is "warm"/, line: 3 },
  'c51-no-closing-fence': { refused: /no closing fence/, line: 1 },
  'c51-empty': { refused: /The file is empty/, line: 1 },
  'c52-missing-space': { refused: /YAML|skill/ },
  'c52-mode-without-space': { refused: /blank is missing after "mode:"/, line: 2 },
  'c52-tabs': { refused: /YAML/ },
  'c56-rule-in-body': { name: 'h', prompt: '# T\n\n---\n\nkey: value\n\n---\nend', tools: ['read'] },
  'c56-description-on-next-line': { description: 'Create designs. Use for flows.', tools: ['read'] },
  'language-after-fence': { refused: /"js" is not read, and never run/, line: 1 },
  'text-after-closing-fence': { refused: /"---more" is no closing fence/, line: 4 },
  'missing-opening-fence': { refused: /opening fence is missing/, line: 1 },
  'key-in-description': { refused: /"tools" restricts/, line: 3 },
  'lost-line-break': { refused: /"tools" restricts/, line: 2 },
  'misspelt-key': { refused: /Did you mean tools\?/, line: 3 },
  'tools-under-another-key': { refused: /its value names tools/, line: 3 },
  'unbalanced-parentheses': { refused: /parentheses .* do not match/, line: 3 },
  'blank-before-parenthesis': { refused: /no tool name/, line: 3 },
  'opencode-permission': {
    off: ['edit', 'write', 'webfetch'],
    rules: { 'edit a.ts': 'deny', 'bash ls': 'ask', 'bash git status': 'allow', 'bash rm x': 'deny' },
  },
  'permission-all-but-reading': { tools: ['read', 'glob'], rules: { 'read a': 'allow', 'bash ls': 'deny' } },
  'permission-empty': { refused: /"permission" must be allow, ask, deny or a map/, line: 3 },
  'claude-names': {
    tools: ['read', 'edit', 'glob', 'webfetch', 'todowrite', ...family, 'skill'],
    warning: /There is no WebSearch here/,
  },
  'spawns-in-parentheses': {
    tools: ['read', ...family],
    rules: { 'task explorer': 'allow', 'task general': 'allow', 'task fixer': 'deny' },
  },
  'both-lists': { tools: ['bash'] },
}

async function parse(fixture: string): Promise<ParsedAgent> {
  const text = await readFile(new URL(`fixtures/agents/${fixture}.md`, import.meta.url), 'utf8')
  return parseAgent({ text, fallbackName: fixture, format: 'claude', source: { kind: 'project', path: fixture } })
}

function toolsOn({ tools }: AgentDefinition): string[] {
  return canonicalTools.filter((tool) => tools.findLast(({ pattern }) => wildcardCovers(pattern, tool))?.allow ?? true)
}

function decision({ permission }: AgentDefinition, request: string): string | undefined {
  const [key, pattern] = [request.slice(0, request.indexOf(' ')), request.slice(request.indexOf(' ') + 1)]
  return permission.findLast((rule) => wildcardCovers(rule.key, key!) && wildcardCovers(rule.pattern, pattern!))?.action
}

describe('an agent file as people write it', () => {
  for (const [fixture, expected] of Object.entries(cases)) {
    test(fixture.replaceAll('-', ' '), async () => {
      if (expected.refused) return expectRefusal(fixture, expected)
      const { agent, warnings } = await parse(fixture)
      expect(agent).toMatchObject(partsOf(expected))
      if (expected.model !== undefined) expect(agent.model ?? null).toBe(expected.model)
      if (expected.tools) expect(toolsOn(agent).sort()).toEqual([...expected.tools].sort())
      if (expected.off)
        expect(canonicalTools.filter((tool) => !toolsOn(agent).includes(tool)).sort()).toEqual([...expected.off].sort())
      for (const [request, action] of Object.entries(expected.rules ?? {}))
        expect([request, decision(agent, request)]).toEqual([request, action])
      if (expected.warning) expect(warnings.map(({ message }) => message).join('\n')).toMatch(expected.warning)
      else expect(warnings.filter(({ message }) => !/model/.test(message))).toEqual([])
    })
  }

  test('a refusal is the same the second time', async () => {
    const first = await parse('c52-missing-space').catch((error: unknown) => error)
    const second = await parse('c52-missing-space').catch((error: unknown) => error)
    expect(first).toBeInstanceOf(DefinitionError)
    expect(second).toEqual(first)
  })

  test('names of MCP servers and their tools are kept', async () => {
    expect((await parse('d18-server-list')).agent.mcpServers).toEqual(['a', 'b'])
    expect((await parse('d18-server-map')).agent.mcpServers).toEqual(['a', 'b'])
    const { agent } = await parse('claude-names')
    expect(agent.tools).toContainEqual({ pattern: 'github_create_issue', allow: true })
  })

  test('every field arrives', async () => {
    const { agent } = await parse('all-fields')
    expect(agent).toMatchObject({
      name: 'full',
      mode: 'all',
      model: 'ollama/qwen3:8b',
      toolset: 'compact',
      limits: { maxTurns: 5, timeoutMs: 1000, maxTokens: 900 },
      think: 'high',
      options: { seed: 7, temperature: 0.2, top_p: 0.9 },
      spawns: ['explorer', 'gen*'],
      restart: { restart: 'transient' },
      isolation: 'worktree',
      denyAtDepth: ['webfetch'],
    })
  })

  test('a missing mode means sub-agent, and both in the folders of opencode', () => {
    const text = '---\ndescription: d\n---\nBody\n'
    const modes = (['troupe', 'claude', 'opencode'] as const).map(
      (format) => parseAgent({ text, fallbackName: 'a', format, source: { kind: 'user' } }).agent.mode,
    )
    expect(modes).toEqual(['subagent', 'subagent', 'all'])
  })

  test('front matter in another language is never run', async () => {
    await expect(parse('language-after-fence')).rejects.toThrow()
    expect(globalThis).not.toHaveProperty('ran')
  })
})

function partsOf({ name, description, prompt, mode }: Expected): Partial<Expected> {
  return Object.fromEntries(
    Object.entries({ name, description, prompt, mode }).filter(([, value]) => value !== undefined),
  )
}

async function expectRefusal(fixture: string, { refused, line }: Expected): Promise<void> {
  const error = await parse(fixture).catch((thrown: unknown) => thrown)
  if (!(error instanceof DefinitionError)) throw new Error(`${fixture} was not refused: ${JSON.stringify(error)}`)
  expect(error.message).toMatch(refused!)
  if (line !== undefined) expect([error.message, error.line]).toEqual([error.message, line])
}
