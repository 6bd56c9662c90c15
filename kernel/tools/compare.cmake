# Fails, with the command that mends it, when a kept file differs from what the build generates.
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${GENERATED} ${KEPT} RESULT_VARIABLE different)
if(different)
  file(REMOVE_RECURSE ${GENERATED}.wanted)
  file(RENAME ${GENERATED} ${GENERATED}.wanted)
  message(FATAL_ERROR "${KEPT} is out of date: cp ${GENERATED}.wanted ${KEPT}")
endif()
