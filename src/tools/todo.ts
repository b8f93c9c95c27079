import * as z from 'zod'
import type { Todo } from '../core/records.ts'
import { defineTool } from './define-tool.ts'
import { count } from './text.ts'

const todo = z.object({
  content: z.string().min(1),
  status: z.enum(['pending', 'in_progress', 'completed', 'cancelled']).default('pending'),
  priority: z.enum(['high', 'medium', 'low']).default('medium'),
})

/** Replaces the session's to-do list. */
export const todowrite = defineTool({
  name: 'todowrite',
  description:
    'Replace your to-do list: give all items each time. Use it for work of three steps or more; keep one item in_progress and mark items completed as soon as they are.',
  input: z.object({ todos: z.array(todo).describe('The whole list') }),
  effect: 'read', // Only the session's own state changes, by the record of this result.
  permission: () => undefined,
  run: async ({ todos }) => ({ title: titleOf(todos), output: listOf(todos), todos }),
})

/** Shows the session's to-do list. */
export const todoread = defineTool({
  name: 'todoread',
  description: 'Show your to-do list.',
  input: z.object({}),
  effect: 'read',
  permission: () => undefined,
  run: async (_, { todos }) => ({ title: titleOf(todos), output: listOf(todos) }),
})

const marks: Readonly<Record<Todo['status'], string>> = {
  pending: '[ ]',
  in_progress: '[>]',
  completed: '[x]',
  cancelled: '[-]',
}

function listOf(todos: readonly Todo[]): string {
  if (todos.length === 0) return 'The to-do list is empty.'
  const priorityOf = ({ priority }: Todo) => (priority === 'medium' ? '' : ` (${priority})`)
  return todos.map((item) => `${marks[item.status]} ${item.content}${priorityOf(item)}`).join('\n')
}

function titleOf(todos: readonly Todo[]): string {
  const open = todos.filter(({ status }) => status === 'pending' || status === 'in_progress').length
  return `${count(open, 'open item')} of ${todos.length}`
}
