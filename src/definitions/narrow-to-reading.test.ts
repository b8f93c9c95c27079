import { expect, test } from 'vitest'
import { narrowToReading } from './narrow-to-reading.ts'
import { parseAgent } from './parse-agent.ts'
import { spawnableFor } from './spawnable.ts'

function agent(frontmatter: string, name = 'a') {
  const text = `---\nname: ${name}\ndescription: About ${name}.\n${frontmatter}\n---\nBody\n`
  return parseAgent({ text, fallbackName: name, format: 'troupe', source: { kind: 'project' } }).agent
}

test('an agent of an untrusted folder keeps only what reads, nothing allowed in advance, no model of its own', () => {
  const narrowed = narrowToReading(
    agent(
      'model: ollama/big\ntools: [read, bash, write, "github_*"]\npermission: { bash: allow, read: { "*": allow, ".env": deny } }',
    ),
  )
  expect(narrowed.tools).toEqual([
    { pattern: '*', allow: false },
    { pattern: 'read', allow: true },
  ])
  expect(narrowed.permission).toEqual([{ key: 'read', pattern: '.env', action: 'deny', source: 'agent' }])
  expect(narrowed.model).toBeUndefined()
})

test('an agent with all tools keeps those that read and those that hand work on', () => {
  const on = narrowToReading(agent('mode: all')).tools.filter(({ allow }) => allow)
  expect(on.map(({ pattern }) => pattern)).toEqual(
    expect.arrayContaining(['read', 'glob', 'grep', 'task', 'read_sub_agent', 'skill']),
  )
  expect(on.map(({ pattern }) => pattern)).not.toEqual(expect.arrayContaining(['bash']))
  expect(on.some(({ pattern }) => /bash|edit|write$|webfetch|memory|\*/.test(pattern) && pattern !== 'todowrite')).toBe(
    false,
  )
})

test('an agent may send those that are not primary and that its file does not rule out', () => {
  const agents = [
    agent('mode: primary', 'lead'),
    agent('mode: all', 'general'),
    agent('', 'explorer'),
    agent('', 'extra'),
  ]
  const names = (frontmatter: string) => spawnableFor(agent(frontmatter), agents).map(({ name }) => name)
  expect(names('')).toEqual(['general', 'explorer', 'extra'])
  expect(names('spawns: [ex*]')).toEqual(['explorer', 'extra'])
  expect(names('spawns: []')).toEqual([])
  expect(names('permission: { task: { "*": deny, "expl*": allow } }')).toEqual(['explorer'])
  expect(spawnableFor(agent(''), agents)[0]).toEqual({ name: 'general', description: 'About general.' })
})
