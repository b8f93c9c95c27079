import { bash } from './bash.ts'
import type { Tool } from './define-tool.ts'
import { edit } from './edit.ts'
import { glob } from './glob.ts'
import { grep } from './grep.ts'
import { read } from './read.ts'
import { readSubAgent } from './read-sub-agent.ts'
import { skill } from './skill.ts'
import { task } from './task.ts'
import { taskCancel } from './task-cancel.ts'
import { taskSend } from './task-send.ts'
import { taskWait } from './task-wait.ts'
import { todoread, todowrite } from './todo.ts'
import { updateMemory } from './update-memory.ts'
import { webfetch } from './webfetch.ts'
import { write } from './write.ts'

/** Every built-in tool, in the order in which the model sees them. */
export const allTools: readonly Tool[] = [
  bash,
  read,
  edit,
  write,
  glob,
  grep,
  webfetch,
  todowrite,
  todoread,
  task,
  taskSend,
  taskWait,
  taskCancel,
  readSubAgent,
  skill,
  updateMemory,
]
