# Fails, with the command that mends it, when a kept file differs from what the build generates.
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${GENERATED} ${KEPT} RESULT_VARIABLE different)
if(different)
  file(REMOVE_RECURSE ${GENERATED}.wanted)
  file(RENAME ${GENERATED} ${GENERATED}.wanted)
  # CMake folds a message into lines unless it begins with a blank: a reader copies the command, a test reads it.
  message(FATAL_ERROR " ${KEPT} is out of date: cp ${GENERATED}.wanted ${KEPT}")
endif()
