import { expect, test } from 'vitest'
import { requestText } from './request-text.ts'

const hello = { role: 'user', content: 'line\n"quoted"' }
const tools = [{ type: 'function', function: { name: 'read' } }]

test('a request is the JSON that it stands for, also when its parts have come before', () => {
  const request = { model: 'm', messages: [hello], tools, options: { num_ctx: 4096 }, stream: true }
  expect(JSON.parse(requestText(request))).toEqual(request)
  const longer = { ...request, messages: [hello, { role: 'assistant', content: 'é' }] }
  expect(JSON.parse(requestText(longer))).toEqual(longer)
})

test('a request needs neither messages nor tools nor anything else', () => {
  expect(JSON.parse(requestText({}))).toEqual({})
  expect(JSON.parse(requestText({ messages: [] }))).toEqual({ messages: [] })
  expect(JSON.parse(requestText({ model: 'm', tools: undefined }))).toEqual({ model: 'm' })
})
