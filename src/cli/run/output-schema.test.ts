import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadOutputSchema } from './output-schema.ts'

async function schemaFile(text: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'troupe-schema-')), 'schema.json')
  await writeFile(file, text)
  return file
}

const person = JSON.stringify({
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
  required: ['name'],
  additionalProperties: false,
})

test('an answer that fits is its JSON, also out of a Markdown fence', async () => {
  const { check } = await loadOutputSchema(await schemaFile(person))
  expect(check('{"name": "Ada"}')).toEqual({ text: '{"name": "Ada"}' })
  expect(check('```json\n{"name": "Ada", "age": 36}\n```\n')).toEqual({ text: '{"name": "Ada", "age": 36}' })
})

test('an answer that does not fit is refused with where and why', async () => {
  const { check } = await loadOutputSchema(await schemaFile(person))
  expect(check('Ada')).toEqual({ problem: expect.stringMatching(/^it is not JSON/) })
  expect(check('{"age": -1}')).toEqual({ problem: expect.stringMatching(/name: .*; age: /) })
  expect(check('{"name": "Ada", "extra": 1}')).toEqual({ problem: expect.stringContaining('extra') })
})

test('a schema file that is missing, broken or no schema is a usage error that names the file', async () => {
  await expect(loadOutputSchema('/nowhere/schema.json')).rejects.toMatchObject({ code: 'bad-schema' })
  await expect(loadOutputSchema(await schemaFile('{"type": '))).rejects.toThrow('schema.json')
  await expect(loadOutputSchema(await schemaFile('[1]'))).rejects.toThrow('must hold an object')
  await expect(loadOutputSchema(await schemaFile('{"type": "nonsense"}'))).rejects.toMatchObject({ code: 'bad-schema' })
})
